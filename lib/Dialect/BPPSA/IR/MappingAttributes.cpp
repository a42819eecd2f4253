//===- MappingAttributes.cpp - verifiers of mappings ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers/Verifiers.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAProductEnums.cpp.inc"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static bool isBlock(GPUKernel kernel) {
  return kernel == GPUKernel::BlockPerRow || kernel == GPUKernel::BlockPerColumn;
}

/// Returns nullopt if the number depends on sizes.
static std::optional<int64_t> getFixedThreads(GPUKernel kernel) {
  switch (kernel) {
  case GPUKernel::Cooperative:
    return cost::kCooperativeWarps * cost::kWarpThreads;
  case GPUKernel::ThreadPerColumn:
    return cost::kWarpThreads;
  case GPUKernel::TiledProduct:
    return cost::kTiledProductThreads;
  case GPUKernel::ThreadPerElement:
    return cost::kElementThreads;
  default:
    return std::nullopt;
  }
}

static LogicalResult verifyThreads(function_ref<InFlightDiagnostic()> emitError, GPUKernel kernel,
                                   int64_t threads) {
  if (std::optional<int64_t> fixed = getFixedThreads(kernel); fixed && threads != *fixed)
    return emitError() << "kernel '" << stringifyGPUKernel(kernel) << "' has blocks of " << *fixed
                       << " threads, found " << threads;
  if (threads < 1 || threads > cost::kMaxThreads || threads % cost::kWarpThreads != 0)
    return emitError() << "a block has whole warps of " << cost::kWarpThreads
                       << " threads and at most " << cost::kMaxThreads << " threads, found "
                       << threads;
  return success();
}

static LogicalResult verifyParts(function_ref<InFlightDiagnostic()> emitError, GPUKernel kernel,
                                 int64_t parts, Residence matrices) {
  if (!llvm::is_contained({1, 2, 4, 8}, parts))
    return emitError() << "1, 2, 4 or 8 threads share a row, found " << parts;
  bool canShare = isBlock(kernel) || kernel == GPUKernel::ThreadPerColumn;
  if (parts > 1 && (!canShare || matrices != Residence::Registers))
    return emitError() << "threads share rows in blocks of rows or columns with matrices in "
                          "registers; set parts to 1";
  if ((matrices == Residence::Shared && kernel != GPUKernel::ThreadPerColumn) ||
      (matrices == Residence::Memory && !isBlock(kernel) && kernel != GPUKernel::ColumnTile))
    return emitError() << "kernel '" << stringifyGPUKernel(kernel) << "' cannot have matrices in '"
                       << stringifyResidence(matrices) << "'; use registers";
  return success();
}

LogicalResult GPUMappingAttr::verify(function_ref<InFlightDiagnostic()> emitError, GPUKernel kernel,
                                     int64_t threads, int64_t parts, int64_t rows, int64_t columns,
                                     Residence matrices, int64_t stages, TensorPrecision precision,
                                     GPUMappingAttr offset) {
  if (failed(verifyThreads(emitError, kernel, threads)) ||
      failed(verifyParts(emitError, kernel, parts, matrices)))
    return failure();
  bool isShared = kernel == GPUKernel::Cooperative, isTile = kernel == GPUKernel::ColumnTile;
  if (isShared ? !llvm::is_contained({1, 2, 4, 8}, rows) : rows != 0)
    return emitError() << "kernel '" << stringifyGPUKernel(kernel) << "' has "
                       << (isShared ? "1, 2, 4 or 8" : "no")
                       << " rows a warp, found rows = " << rows;
  if (isTile ? columns < 1 : columns != 0)
    return emitError() << "kernel '" << stringifyGPUKernel(kernel) << "' has "
                       << (isTile ? "tiles" : "no tiles")
                       << " of columns, found columns = " << columns;
  bool canStage = isBlock(kernel) || isTile || kernel == GPUKernel::ThreadPerColumn;
  if (!llvm::is_contained({0, 2, 4, 8}, stages) || (stages > 0 && !canStage))
    return emitError() << "kernel '" << stringifyGPUKernel(kernel) << "' copies "
                       << (canStage ? "0, 2, 4 or 8" : "0")
                       << " stages ahead, found stages = " << stages;
  if (precision != TensorPrecision::FP32 && !isTile && kernel != GPUKernel::TiledProduct)
    return emitError() << "kernel '" << stringifyGPUKernel(kernel)
                       << "' uses no tensor cores and has the precision fp32, found "
                       << stringifyTensorPrecision(precision);
  if (offset && !offset.is(GPUKernel::BlockPerColumn))
    return emitError() << "offsets need a block_per_column, found "
                       << stringifyGPUKernel(offset.getKernel());
  return success();
}

LogicalResult CPUMappingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     LaneContents lanes, int64_t width) {
  if (width < 1 || (lanes == LaneContents::Units && width != 1))
    return emitError() << "lanes of " << stringifyLaneContents(lanes) << " need "
                       << (lanes == LaneContents::Units ? "a width of 1" : "a positive width")
                       << ", found " << width;
  return success();
}

std::string GPUMappingAttr::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  Attribute(*this).print(os);
  StringRef inside = StringRef(text).drop_until([](char c) { return c == '<'; });
  return inside.drop_front().drop_back().str();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {
/// Rows, and columns of matrices, that a set of roots depends on.
struct BlockNeeds {
  int64_t rows = 1;
  SmallVector<int64_t> columns;
};
} // namespace

static int64_t getRows(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 1 ? type.getDimSize(0) : 1;
}

static BlockNeeds getBlockNeeds(Block &body, ValueRange roots) {
  BlockNeeds needs;
  llvm::SetVector<Operation *> needed;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &body)
      needed.insert(op);
  };
  for (Value root : roots) {
    needs.rows = std::max(needs.rows, getRows(root));
    add(root);
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    for (Value result : needed[i]->getResults())
      needs.rows = std::max(needs.rows, getRows(result));
    if (auto product = dyn_cast<MatVecOp>(needed[i]))
      needs.columns.push_back(getRows(product.getVector()));
    llvm::for_each(needed[i]->getOperands(), add);
  }
  return needs;
}

static LogicalResult verifyBlock(Operation *op, GPUMappingAttr mapping, ValueRange roots) {
  BlockNeeds needs = getBlockNeeds(op->getRegion(0).front(), roots);
  int64_t parts = mapping.getParts(), threads = mapping.getThreads(), entries = 0;
  if (needs.rows * parts > threads)
    return op->emitOpError("has a vector of ")
           << needs.rows << " rows, each of which " << parts << " of a block's " << threads
           << " threads share; set threads to " << cost::roundUpToWarps(needs.rows * parts)
           << " or more, or use another mapping";
  for (int64_t columns : needs.columns)
    entries += llvm::divideCeil(columns, parts);
  if (mapping.keepsMatricesInRegisters() && entries * threads > cost::kRegistersOfBlock)
    return op->emitOpError("has ")
           << entries << " entries of matrices for each of " << threads << " threads, and a block "
           << "has " << cost::kRegistersOfBlock
           << " registers; raise parts or set matrices to memory";
  return success();
}

static LogicalResult refuse(Operation *op, GPUMappingAttr mapping, const Twine &kernels) {
  return op->emitOpError("cannot be mapped to '")
         << stringifyGPUKernel(mapping.getKernel()) << "'; use " << kernels;
}

static LogicalResult verifyColumns(TransitionOp op, GPUMappingAttr mapping) {
  bool hasOffset = !op.getInjected().empty();
  ValueRange roots = op->getRegion(0).front().getTerminator()->getOperands();
  GPUKernel kernel = mapping.getKernel();
  bool byThreadsOrTiles = kernel == GPUKernel::ThreadPerColumn || kernel == GPUKernel::ColumnTile;
  if (!byThreadsOrTiles && kernel != GPUKernel::BlockPerColumn)
    return refuse(op, mapping, "thread_per_column, column_tile or block_per_column");
  if (byThreadsOrTiles && op.getDiagonal())
    return refuse(op, mapping, "block_per_column, as a diagonal is one column");
  if (hasOffset != static_cast<bool>(mapping.getOffset()))
    return op->emitOpError("has ")
           << (hasOffset ? "" : "no ") << "injected cotangents; "
           << (hasOffset ? "add a block_per_column as" : "remove") << " the offset of its mapping";
  roots = roots.take_front(op.getStates().size());
  if (mapping.getOffset() && failed(verifyBlock(op, mapping.getOffset(), roots)))
    return failure();
  return byThreadsOrTiles ? success() : verifyBlock(op, mapping, roots);
}

static LogicalResult verifyLoop(Operation *op, GPUMappingAttr mapping, bool hasStates,
                                bool hasSums) {
  Block &body = op->getRegion(0).front();
  switch (mapping.getKernel()) {
  case GPUKernel::BlockPerRow:
    return verifyBlock(op, mapping, body.getTerminator()->getOperands());
  case GPUKernel::Cooperative:
    return hasStates && !hasSums ? success()
                                 : refuse(op, mapping,
                                          "block_per_row, as blocks that share rows need states "
                                          "and add nothing up over steps");
  case GPUKernel::TiledProduct:
    return !hasStates && isa<RecurrenceOp>(op)
               ? success()
               : refuse(op, mapping,
                        "block_per_row or cooperative, as its steps follow each other");
  default:
    return refuse(op, mapping, "block_per_row, cooperative or tiled_product");
  }
}

static LogicalResult verifyNotPacked(Operation *op) {
  if (auto packable = dyn_cast<PackableOpInterface>(op); packable && packable.getLanes())
    return op->emitOpError("has lanes and a mapping; remove one of them");
  return success();
}

bool GPUMappingAttr::canMap(Operation *op) {
  return isa<RecurrenceOp, ChainOp, TransitionOp, OuterSumOp>(op);
}

bool CPUMappingAttr::canMap(Operation *op) {
  return GPUMappingAttr::canMap(op) || isa<StepSumOp>(op);
}

LogicalResult GPUMappingAttr::verifyOn(Operation *op) {
  if (failed(verifyNotPacked(op)))
    return failure();
  if (isa<RecurrenceOp, ChainOp>(op) && isGraphBody(op->getRegion(0).front()))
    return op->emitOpError("has a graph as its body, which has no mapping to a GPU; run "
                           "bppsa-vectorize-bodies first");
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return verifyLoop(op, *this, !loop.getInitial().empty(), /*hasSums=*/false);
  if (auto chain = dyn_cast<ChainOp>(op))
    return verifyLoop(op, *this, !chain.getSeeds().empty(), !chain.getSumWith().empty());
  if (auto transition = dyn_cast<TransitionOp>(op))
    return verifyColumns(transition, *this);
  if (isa<OuterSumOp>(op))
    return is(GPUKernel::TiledProduct) || is(GPUKernel::ThreadPerElement)
               ? success()
               : refuse(op, *this, "tiled_product or thread_per_element");
  return op->emitOpError("has no mapping to a GPU; remove 'bppsa.mapping'");
}

LogicalResult CPUMappingAttr::verifyOn(Operation *op) {
  if (!canMap(op))
    return op->emitOpError("has no vectors to map; remove 'bppsa.mapping'");
  if (!holds(LaneContents::Chunks))
    return verifyNotPacked(op);
  // The mapping is read after packing, when the chain is expanded.
  auto chain = dyn_cast<ChainOp>(op);
  if (!chain || chain.getPlan().getAlgorithm() != ScanAlgorithm::Chunked)
    return op->emitOpError("has no chunks for the lanes of 'bppsa.mapping'; give a chain the plan "
                           "<chunked>, or take 'units'");
  if (chain.getLanes() && chain.getLanes() != 1)
    return op->emitOpError("needs one lane of samples if chunks have lanes, found ")
           << *chain.getLanes() << "; use 'lanes 1'";
  return success();
}

std::optional<ProductForm> bppsa::getProductForm(Operation *op) {
  auto mapping = dyn_cast_or_null<ProductMappingAttr>(attrs::Mapping::of(op));
  return mapping ? std::optional(mapping.getForm()) : std::nullopt;
}

void bppsa::setProductForm(Operation *op, ProductForm form) {
  attrs::Mapping::set(op, ProductMappingAttr::get(op->getContext(), form));
}

bool bppsa::addsProducts(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 &&
         linalg::detail::isContractionBody(*op.getBody(), [](Operation *term, Operation *sum) {
           return isa<arith::MulFOp>(term) && isa<arith::AddFOp>(sum);
         });
}

static LogicalResult verifyProduct(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (generic && addsProducts(generic))
    return success();
  return op->emitOpError("adds no products of two factors; remove 'bppsa.mapping'");
}

LogicalResult TaskMappingAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t most) {
  if (most < 2 || !llvm::isPowerOf2_64(most))
    return emitError() << "takes a power of two of samples together, at least 2, found " << most;
  return success();
}

LogicalResult TaskMappingAttr::verifyOn(Operation *op) {
  if (!isa<RecurrenceOp, ChainOp>(op) || !cast<PackableOpInterface>(op).getLanes())
    return op->emitOpError("takes no samples together; 'bppsa.mapping' of tasks needs a time loop "
                           "with 'lanes'");
  return success();
}

LogicalResult bppsa::verifyMapping(Operation *op, NamedAttribute attribute) {
  if (auto ofGPU = dyn_cast<GPUMappingAttr>(attribute.getValue()))
    return ofGPU.verifyOn(op);
  if (auto ofCPU = dyn_cast<CPUMappingAttr>(attribute.getValue()))
    return ofCPU.verifyOn(op);
  if (isa<ProductMappingAttr>(attribute.getValue()))
    return verifyProduct(op);
  if (auto ofTasks = dyn_cast<TaskMappingAttr>(attribute.getValue()))
    return ofTasks.verifyOn(op);
  return op->emitOpError("'bppsa.mapping' must be a #bppsa.gpu_mapping, a #bppsa.cpu_mapping, a "
                         "#bppsa.task_mapping or, of a product, a #bppsa.product_mapping, found ")
         << attribute.getValue();
}

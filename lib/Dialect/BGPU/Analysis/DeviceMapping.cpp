//===- DeviceMapping.cpp - mapping of loops to GPU kernels ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BGPU/Analysis/ColumnTilePlan.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace bppsa;

/// Threads (two warps) that a block may use for sums even if the body needs fewer.
static constexpr int64_t kThreadsForSums = 64;

namespace {
struct BlockNeeds {
  explicit BlockNeeds(const BodyPlan &plan) {
    for (const RowUnit &unit : plan.getUnits()) {
      rows = std::max(rows, unit.rows);
      for (const ProductSum &sum : unit.sums)
        for (MatVecOp product : sum.products)
          columns.push_back(getNumRows(product.getVector()));
    }
  }

  int64_t rows = 1;
  std::vector<int64_t> columns;
};
} // namespace

static GPUMappingAttr getBlock(Operation *op, GPUKernel kernel, const cost::BlockShape &shape,
                               Residence matrices, int64_t stages) {
  return GPUMappingAttr::get(op->getContext(), kernel, shape.threads, shape.parts, /*rows=*/0,
                             /*columns=*/0, matrices, stages, TensorPrecision::FP32,
                             /*offset=*/{});
}

/// Falls back to matrices in memory if no number of threads per row gives enough registers.
static FailureOr<MappingChoice> chooseBlock(const LoopBody &loop, GPUKernel kernel,
                                            const BlockNeeds &needs, bool readAhead) {
  int64_t stages = readAhead ? countStages(loop.sources) : 0;
  auto explain = [&](int64_t parts) {
    return llvm::formatv("parts = {0} needs {1}", parts,
                         cost::findLimit(needs.rows, needs.columns, loop.summed, parts))
        .str();
  };
  if (auto shape = cost::shareRows(needs.rows, needs.columns, loop.summed)) {
    std::string reason = shape->parts == 1 ? "" : explain(shape->parts / 2);
    return MappingChoice{getBlock(loop.op, kernel, *shape, Residence::Registers, stages), reason};
  }
  int64_t threads = cost::roundUpToWarps(needs.rows);
  if (needs.rows > cost::kMaxThreads)
    return refuseOp(loop.op, "has a vector of ")
           << needs.rows << " rows, but a thread block has at most " << cost::kMaxThreads
           << " threads; use --target=cpu";
  int64_t parts = 8;
  while (parts > 1 && parts * needs.rows > cost::kMaxThreads)
    parts /= 2;
  return MappingChoice{
      getBlock(loop.op, kernel, {/*parts=*/1, threads, /*entries=*/0}, Residence::Memory, stages),
      explain(parts)};
}

FailureOr<bool> bppsa::fitsSums(const LoopBody &loop) {
  FailureOr<BodyPlan> plan = BodyPlan::create(*loop.body, loop.numCaptures);
  if (failed(plan))
    return failure();
  BlockNeeds needs(*plan);
  auto alone = cost::shareRows(needs.rows, needs.columns),
       together = cost::shareRows(needs.rows, needs.columns, loop.summed);
  return alone && together && together->threads <= std::max(alone->threads, kThreadsForSums);
}

std::string bppsa::findObstacleToSharing(const LoopBody &loop) {
  Block &body = *loop.body;
  unsigned firstCapture = body.getNumArguments() - loop.numCaptures;
  auto isState = [&](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return number >= loop.firstState && number < loop.firstState + loop.numStates;
  };
  for (BlockArgument argument : body.getArguments())
    if (!getElementTypeOrSelf(argument.getType()).isF32())
      return "only values of f32";
  for (Operation &op : body.without_terminator())
    for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (argument && cast<CellOpInterface>(op).getRowAccess(number) == RowAccess::All &&
          (argument.getArgNumber() >= firstCapture || !isState(argument)))
        return "only products of states and of values computed in steps";
    }
  return loop.numStates == 0 ? "states" : "";
}

/// Returns a cooperative mapping to several blocks, or the reason why there is none.
static MappingChoice countRowsPerWarp(const LoopBody &loop, const BodyPlan &plan) {
  if (std::string obstacle = findObstacleToSharing(loop); !obstacle.empty())
    return {{}, "blocks that share rows need " + obstacle};
  int64_t entries = 0, sums = 1;
  for (const RowUnit &unit : plan.getUnits()) {
    sums = std::max<int64_t>(sums, unit.sums.size());
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        entries += llvm::divideCeil(getNumRows(product.getVector()), cost::kCooperativeColumns) * 4;
  }
  std::optional<int64_t> rows = cost::countRowsPerWarp(BlockNeeds(plan).rows, entries, sums);
  if (!rows)
    return {{},
            "blocks that share rows have not the registers for " + std::to_string(entries) +
                " entries of a row in each lane"};
  auto mapping = GPUMappingAttr::get(
      loop.op->getContext(), GPUKernel::Cooperative, cost::kCooperativeWarps * cost::kWarpThreads,
      /*parts=*/1, *rows, /*columns=*/0, Residence::Registers, /*stages=*/0, TensorPrecision::FP32,
      /*offset=*/{});
  return {mapping, ""};
}

/// Returns true if one block that reads the matrices from memory in every step is faster than
/// several blocks that wait for each other. This holds for small transposed matrices, whose reads
/// are coalesced.
static bool isFasterFromMemory(const LoopBody &loop) {
  int64_t entries = 0;
  for (const LinkFactor &factor : getFactors(*loop.body)) {
    if (!factor.isTransposed)
      return false;
    entries += factor.numRows * factor.numColumns;
  }
  return entries <= cost::kMaxEntriesInMemory;
}

FailureOr<MappingChoice> bppsa::chooseLoopMapping(const LoopBody &loop, bool canCooperate) {
  FailureOr<BodyPlan> plan = BodyPlan::create(*loop.body, loop.numCaptures);
  if (failed(plan))
    return failure();
  BlockNeeds needs(*plan);
  bool fits = cost::shareRows(needs.rows, needs.columns).has_value();
  MappingChoice shared;
  if (!fits && canCooperate && !isFasterFromMemory(loop))
    shared = countRowsPerWarp(loop, *plan);
  if (shared.mapping) {
    shared.reason =
        "block_per_row needs " + cost::findLimit(needs.rows, needs.columns, {}, /*parts=*/1);
    return shared;
  }
  FailureOr<MappingChoice> block =
      chooseBlock(loop, GPUKernel::BlockPerRow, needs,
                  /*readAhead=*/loop.numStates > 0 || !isa<RecurrenceOp>(loop.op));
  if (succeeded(block) && !shared.reason.empty())
    block->reason = shared.reason;
  return block;
}

FailureOr<MappingChoice> bppsa::chooseLoopMapping(RecurrenceOp op) {
  return chooseLoopMapping({op, &op.getBody().front(), op.getCaptures().size(),
                            op.getSequences().size(), op.getInitial().size(),
                            llvm::to_vector_of<Value>(op.getSequences()), /*summed=*/{}},
                           /*canCooperate=*/true);
}

SmallVector<Value> bppsa::getSources(const CotangentLoop &loop, LinkOptions options) {
  SmallVector<Value> sources(loop.saved.begin(), loop.saved.end());
  if (options.inject)
    llvm::append_range(sources, loop.injected);
  if (options.emit)
    for (Value factor : loop.factors)
      if (!llvm::is_contained(sources, factor))
        sources.push_back(factor);
  return sources;
}

LoopBody bppsa::getLoopBody(const CotangentLoop &loop, Block &body, LinkOptions options) {
  LoopBody link = {loop.op,
                   &body,
                   loop.captures.size(),
                   loop.saved.size(),
                   loop.getNumStates(),
                   getSources(loop, options),
                   {}};
  if (options.emit)
    for (int64_t with : loop.sumWith)
      link.summed.push_back(
          with == kNoFactor ? 1 : cast<ShapedType>(loop.factors[with].getType()).getShape().back());
  return link;
}

FailureOr<MappingChoice> bppsa::chooseLoopMapping(ChainOp op) {
  CotangentLoop loop = getCotangentLoop(op);
  std::unique_ptr<Region> link = cloneLink(loop, {});
  LoopBody body = getLoopBody(loop, link->front(), {});
  if (!body.summed.empty()) {
    FailureOr<bool> fits = fitsSums(body);
    if (failed(fits))
      return failure();
    if (!*fits)
      return op->emitOpError("has more sums than fit into registers next to its matrices; do not "
                             "run bppsa-fuse-gradients");
  }
  // In a parallel loop, each chain has its own block.
  bool canCooperate = op.getPlan().isSequential() && !op->getParentOfType<scf::ForallOp>();
  return chooseLoopMapping(body, canCooperate);
}

SmallVector<LinkFactor> bppsa::getFactors(Block &body) {
  SmallVector<LinkFactor> factors;
  for (auto product : body.getOps<MatVecOp>()) {
    auto matrix = dyn_cast<BlockArgument>(product.getMatrix());
    bool isKnown = llvm::any_of(factors, [&](const LinkFactor &factor) {
      return factor.matrix == matrix && factor.isTransposed == product.getTransposed();
    });
    if (matrix && !isKnown)
      factors.push_back({matrix, product.getTransposed(), getNumRows(product.getResult()),
                         getNumRows(product.getVector())});
  }
  return factors;
}

static bool hasRows(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 1;
}

/// True if row i of a slice is held by a different thread than row i of the operand.
static bool hasSlices(Block &body) {
  return llvm::any_of(body, [](Operation &op) {
    auto cell = dyn_cast<CellOpInterface>(op);
    return cell && llvm::any_of(llvm::seq(op.getNumOperands()), [&](unsigned operand) {
             return cell.getRowAccess(operand) == RowAccess::Other;
           });
  });
}

std::string bppsa::findObstacleToThreads(const CotangentLoop &loop, Block &body, int64_t parts) {
  auto isSupported = [](Operation &op) {
    if (op.getNumResults() != 1 || !hasRows(op.getResult(0)))
      return false;
    if (auto product = dyn_cast<MatVecOp>(op))
      return isa<BlockArgument>(product.getMatrix()) && hasRows(product.getVector());
    return llvm::all_of(op.getOperands(), hasRows) && isa<CellOpInterface>(op);
  };
  bool canEvaluate = llvm::all_of(body.getArguments().drop_back(loop.captures.size()), hasRows) &&
                     llvm::all_of(body.without_terminator(), isSupported);
  if (!canEvaluate)
    return "vectors, and products with captured matrices";
  return parts > 1 && hasSlices(body) ? "that the threads of a column do not share rows of slices"
                                      : "";
}

/// Returns the exceeded limit or the obstacle; empty if there is none.
static std::string findLimitOfThreads(const CotangentLoop &loop, Block &body) {
  auto exceeds = [](int64_t value, const char *what, int64_t most) {
    return llvm::formatv("{0} {1}, above {2}", value, what, most).str();
  };
  int64_t rows = loop.getTotalSize(), entries = 0;
  auto add = [&](Value value) {
    if (hasRows(value))
      rows = std::max(rows, getNumRows(value));
  };
  llvm::for_each(body.getArguments().drop_back(loop.captures.size()), add);
  for (Operation &op : body.without_terminator()) {
    llvm::for_each(op.getOperands(), add);
    llvm::for_each(op.getResults(), add);
  }
  for (const LinkFactor &factor : getFactors(body))
    entries += factor.numRows * factor.numColumns;
  if (rows > cost::kMaxColumnRows)
    return exceeds(rows, "rows of a column", cost::kMaxColumnRows);
  if (entries > cost::kMaxColumnEntries)
    return exceeds(entries, "entries of matrices", cost::kMaxColumnEntries);
  return findObstacleToThreads(loop, body, /*parts=*/1);
}

/// Matrices that are read only once are not kept in registers.
static GPUMappingAttr shareColumn(const CotangentLoop &loop, Block &body, bool readAhead) {
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (const LinkFactor &factor : getFactors(body))
    sizes.emplace_back(factor.numRows, factor.numColumns);
  cost::ColumnShape shape = {/*parts=*/1, /*inRegisters=*/false, /*entries=*/0};
  if (readAhead)
    shape = cost::shareColumn(sizes, /*canShare=*/!hasSlices(body));
  return GPUMappingAttr::get(loop.op->getContext(), GPUKernel::ThreadPerColumn, cost::kWarpThreads,
                             shape.parts, /*rows=*/0, /*columns=*/0,
                             shape.inRegisters ? Residence::Registers : Residence::Shared,
                             readAhead ? cost::kColumnStages : 0, TensorPrecision::FP32,
                             /*offset=*/{});
}

static GPUMappingAttr tileColumns(const CotangentLoop &loop, Block &body, bool readAhead,
                                  TensorPrecision precision) {
  std::optional<ColumnTilePlan> plan = ColumnTilePlan::create(loop, body);
  if (!plan)
    return {};
  int64_t stages = readAhead ? countStages(loop.saved) : 0;
  return plan->chooseMapping(loop, body, getStagedBytes(loop.saved, stages), stages, precision);
}

static FailureOr<MappingChoice> chooseColumnBlock(const CotangentLoop &loop, bool inject,
                                                  bool readAhead) {
  LinkOptions options = {inject, /*emit=*/false};
  std::unique_ptr<Region> link = cloneLink(loop, options);
  LoopBody body = getLoopBody(loop, link->front(), options);
  FailureOr<BodyPlan> plan = BodyPlan::create(link->front(), body.numCaptures);
  if (failed(plan))
    return failure();
  return chooseBlock(body, GPUKernel::BlockPerColumn, BlockNeeds(*plan), readAhead);
}

static FailureOr<MappingChoice> chooseMatrixMapping(const CotangentLoop &loop, bool readAhead,
                                                    TensorPrecision precision) {
  if (AffineMapLayout::get(loop).isDiagonal)
    return chooseColumnBlock(loop, /*inject=*/false, readAhead);
  std::unique_ptr<Region> link = cloneLink(loop, {/*inject=*/false, /*emit=*/false});
  std::string limit = findLimitOfThreads(loop, link->front());
  if (limit.empty())
    return MappingChoice{shareColumn(loop, link->front(), readAhead), ""};
  if (GPUMappingAttr tiles = tileColumns(loop, link->front(), readAhead, precision))
    return MappingChoice{tiles, "thread_per_column needs " + limit};
  FailureOr<MappingChoice> block = chooseColumnBlock(loop, /*inject=*/false, readAhead);
  if (succeeded(block))
    block->reason = "column_tile cannot evaluate the link, or does not fit into shared memory";
  return block;
}

FailureOr<MappingChoice> bppsa::chooseTransitionMapping(const CotangentLoop &loop, bool readAhead,
                                                        TensorPrecision precision) {
  FailureOr<MappingChoice> choice = chooseMatrixMapping(loop, readAhead, precision);
  if (failed(choice) || loop.injected.empty())
    return choice;
  FailureOr<MappingChoice> offset = chooseColumnBlock(loop, /*inject=*/true, readAhead);
  if (failed(offset))
    return failure();
  GPUMappingAttr own = choice->mapping;
  choice->mapping = GPUMappingAttr::get(
      own.getContext(), own.getKernel(), own.getThreads(), own.getParts(), own.getRows(),
      own.getColumns(), own.getMatrices(), own.getStages(), own.getPrecision(), offset->mapping);
  return choice;
}

LogicalResult bppsa::verifyReady(Operation *op) {
  if (op->getNumResults() != 0)
    return op->emitOpError("works on tensors; run bppsa-bufferize first");
  if (auto packable = dyn_cast<PackableOpInterface>(op); packable && packable.getLanes())
    return op->emitOpError("has lanes, which GPUs do not support; do not run bppsa-pack-batch");
  return success();
}

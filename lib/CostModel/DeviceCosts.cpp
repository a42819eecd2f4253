//===- DeviceCosts.cpp - GPU instruction counts of chains -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Instruction counts follow compiled kernels (docs/Explanation/GPUMappings.md); cycles are
// estimates.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/DeviceCosts.h"
#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/Dialect/BGPU/Analysis/ColumnTilePlan.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;
using cost::StepCost;
using cost::Work;

/// Latency in cycles of a vector handed over through shared memory, of a memory read, of a
/// dependent operation, and of a shuffle.
static constexpr double kHandOver = 60, kMemory = 500, kDependent = 4, kShuffle = 25;

/// Same as kHandOver, if only the threads of a warp synchronise.
static constexpr double kWarpHandOver = 45;

static constexpr int64_t kMaxBlocks = 32, kMaxResidentThreads = 2048, kSharedBytes = 227 << 10;

/// Issue slots of a tensor core product, in instructions.
static constexpr double kProductIssues = 4;

/// Registers of a thread that reads its matrices from memory.
static constexpr int64_t kRegistersWithoutEntries = 64;

static int64_t countResident(int64_t threads, int64_t registers, int64_t sharedBytes) {
  // The system reserves one KiB.
  return std::max<int64_t>(1, std::min({kMaxBlocks, kMaxResidentThreads / threads,
                                        cost::kRegistersOfBlock / (registers * threads),
                                        kSharedBytes / (sharedBytes + 1024)}));
}

namespace {
/// The operations of a link that `roots` depend on.
class LinkPart {
public:
  LinkPart(Block &body, ValueRange roots);

  StepCost getBlockStep(GPUMappingAttr mapping, int64_t vectors) const;
  StepCost getThreadStep(GPUMappingAttr mapping, int64_t rows, TypeRange saved) const;
  StepCost getColumnTileStep(GPUMappingAttr mapping, int64_t rows, ValueRange saved,
                             ValueRange states) const;

private:
  double getPathCycles(bool inRegisters, int64_t parts) const;
  int64_t countEntriesOfRow(int64_t parts) const;
  int64_t countEntriesOfColumn(int64_t parts) const;

  SmallVector<Operation *> ops;
  ValueRange roots;
  int64_t maxRows = 1, entries = 0;
  std::vector<int64_t> columns;
  llvm::SetVector<std::pair<Value, unsigned>> factors;
  std::vector<std::pair<int64_t, int64_t>> factorSizes;
  llvm::SetVector<Value> multiplied;
};
} // namespace

static std::pair<double, double> getRowCost(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (!cell)
    return {0, 0};
  int64_t instructions = getRowInstructions(cell.getWork());
  return {instructions, std::min<int64_t>(instructions, 20) * kDependent};
}

static int64_t getNumColumns(MatVecOp product) {
  return getNumElements(product.getVector().getType());
}

LinkPart::LinkPart(Block &body, ValueRange roots) : roots(roots) {
  llvm::SetVector<Operation *> needed;
  auto add = [&](Value value) {
    if (auto type = dyn_cast<VectorType>(value.getType()); type && type.getRank() == 1)
      maxRows = std::max(maxRows, type.getDimSize(0));
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &body)
      needed.insert(op);
  };
  llvm::for_each(roots, add);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (auto product = dyn_cast<MatVecOp>(needed[i])) {
      columns.push_back(getNumColumns(product));
      int64_t rowsOfMatrix = getNumElements(product.getResult().getType());
      entries += columns.back() * rowsOfMatrix;
      if (factors.insert({product.getMatrix(), product.getTransposed() ? 1u : 0u}))
        factorSizes.emplace_back(rowsOfMatrix, columns.back());
      multiplied.insert(product.getVector());
    }
    llvm::for_each(needed[i]->getOperands(), add);
  }
  for (Operation &op : body)
    if (needed.contains(&op))
      ops.push_back(&op);
}

double LinkPart::getPathCycles(bool inRegisters, int64_t parts) const {
  llvm::DenseMap<Value, double> ready;
  for (Operation *op : ops) {
    double begin = 0;
    for (Value operand : op->getOperands())
      begin = std::max(begin, ready.lookup(operand));
    double cycles = getRowCost(op).second;
    if (auto product = dyn_cast<MatVecOp>(op)) {
      // Sums of products are one stage; their vectors are handed over together.
      begin = ready.lookup(product.getVector()) + kHandOver;
      if (Value addend = product.getAddend())
        begin = std::max(begin, ready.lookup(addend));
      // Four accumulators if the row is in registers, otherwise one.
      double terms = getNumColumns(product);
      cycles = inRegisters ? terms / parts + 2 * kDependent + kShuffle * llvm::Log2_64(parts)
                           : kMemory + terms * 2 * kDependent;
    }
    for (Value result : op->getResults())
      ready[result] = begin + cycles;
  }
  double last = 0;
  for (Value root : roots)
    last = std::max(last, ready.lookup(root));
  return last;
}

int64_t LinkPart::countEntriesOfRow(int64_t parts) const {
  int64_t count = 0;
  for (int64_t terms : columns)
    count += llvm::divideCeil(terms, parts);
  return count;
}

int64_t LinkPart::countEntriesOfColumn(int64_t parts) const {
  int64_t count = 0;
  for (auto [rowsOfMatrix, terms] : factorSizes)
    count += llvm::divideCeil(rowsOfMatrix, parts) * terms;
  return count;
}

StepCost LinkPart::getBlockStep(GPUMappingAttr mapping, int64_t vectors) const {
  // Rows shared by several blocks count as read from memory by one block.
  bool isShared = mapping.is(GPUKernel::Cooperative);
  bool inRegisters = !isShared && mapping.keepsMatricesInRegisters();
  int64_t parts = mapping.getParts(),
          threads = isShared ? cost::roundUpToWarps(maxRows) : mapping.getThreads();
  // One load per multiply-add, or per four if rows are not shared; reading from memory takes two.
  double perTerm = !inRegisters ? 3.5 : parts > 1 ? 2 : 1.25;
  double instructions = 10.0 + 8.0 * vectors + perTerm * countEntriesOfRow(parts);
  for (Operation *op : ops)
    instructions += getRowCost(op).first;
  int64_t registers = inRegisters ? countEntriesOfRow(parts) + cost::kRegistersBesidesMatrix
                                  : kRegistersWithoutEntries;
  StepCost step;
  step.cycles = kHandOver + getPathCycles(inRegisters, parts) + instructions;
  step.instructions = instructions;
  step.warps = threads / cost::kWarpThreads;
  step.resident = countResident(threads, registers, 4 * 8 * vectors * maxRows);
  return step;
}

static int64_t countAccesses(int64_t rows) {
  return rows / 4 + llvm::popcount(static_cast<uint64_t>(rows % 4));
}

StepCost LinkPart::getThreadStep(GPUMappingAttr mapping, int64_t rows, TypeRange saved) const {
  bool inRegisters = mapping.keepsMatricesInRegisters();
  int64_t parts = mapping.getParts();
  auto countRows = [&](int64_t count) { return llvm::divideCeil(count, parts); };
  double instructions = 30, depth = 0;
  int64_t values = countRows(rows), handOvers = 1;
  for (Type type : saved) {
    instructions += 5 + countAccesses(countRows(getNumElements(type)));
    values += countRows(getNumElements(type));
  }
  for (Operation *op : ops) {
    if (op->getNumResults() != 1)
      continue;
    int64_t own = countRows(getNumElements(op->getResult(0).getType()));
    instructions += getRowCost(op).first * own;
    if (auto product = dyn_cast<MatVecOp>(op)) {
      instructions += (inRegisters ? 1 : 1.25) * own * getNumColumns(product);
      // Sums of rows are independent, but may be too few to hide latency.
      depth += getNumColumns(product) * std::max(0.0, kDependent - own);
    }
  }
  if (parts > 1) {
    ++handOvers;
    for (Value vector : multiplied) {
      int64_t count = getNumElements(vector.getType());
      instructions += countAccesses(countRows(count)) + llvm::divideCeil(count, 4);
    }
  }
  StepCost step;
  step.cycles = instructions + depth + kWarpHandOver * handOvers;
  step.instructions = instructions;
  step.resident = countResident(cost::kWarpThreads,
                                40 + 2 * values + (inRegisters ? countEntriesOfColumn(parts) : 0),
                                inRegisters ? 0 : 4 * entries);
  step.columns = static_cast<double>(cost::kWarpThreads / parts);
  return step;
}

StepCost LinkPart::getColumnTileStep(GPUMappingAttr mapping, int64_t rows, ValueRange saved,
                                     ValueRange states) const {
  llvm::SetVector<Value> columnTiles(states.begin(), states.end()), shared;
  for (Operation *op : ops) {
    if (llvm::any_of(op->getOperands(), [&](Value value) { return columnTiles.contains(value); }))
      columnTiles.insert(op->result_begin(), op->result_end());
    if (auto product = dyn_cast<MatVecOp>(op))
      shared.insert(product.getVector());
  }
  int64_t ring = getStagedBytes(saved, mapping.getStages()), sharedRows = 0, savedElements = 0;
  for (Value sequence : saved)
    savedElements += cast<ShapedType>(sequence.getType()).getShape().back();
  for (Value value : shared)
    sharedRows += llvm::alignTo(getNumElements(value.getType()), cost::kTileRows);
  int64_t warps = mapping.getThreads() / cost::kWarpThreads, width = mapping.getColumns();
  int64_t slots = llvm::divideCeil(ColumnTilePlan::getNumTiles(maxRows), warps);

  double instructions = 40.0 + savedElements / maxRows * 2.0 * slots;
  int64_t matrices = 0;
  for (Operation *op : ops)
    instructions +=
        getRowCost(op).first * slots * (columnTiles.contains(op->getResult(0)) ? 4 * width : 2);
  auto countDepth = [](int64_t count) { return llvm::divideCeil(count, cost::kTileDepth); };
  for (int64_t count : columns)
    matrices += 8 * slots * countDepth(count);
  bool inRegisters = mapping.keepsMatricesInRegisters();
  for (int64_t count : columns) {
    // A tile is read and split once, multiplied three times and added.
    double ofTile = width * (8 + slots * (4 + 3 * kProductIssues)) + (inRegisters ? 0 : 25 * slots);
    instructions += countDepth(count) * ofTile;
  }
  instructions += 4 * slots * width * shared.size();
  StepCost step;
  step.cycles = instructions + kHandOver * (columns.size() + 1);
  step.instructions = instructions;
  step.warps = warps;
  step.resident = countResident(mapping.getThreads(), 66 + (inRegisters ? matrices : 30),
                                ring + sharedRows * 4 * cost::kTileColumns * width);
  int64_t numColumnTiles = llvm::divideCeil(rows, cost::kTileColumns * width);
  step.columns = static_cast<double>(rows) / static_cast<double>(numColumnTiles);
  return step;
}

static StepCost getMapStep(int64_t rows, double terms) {
  int64_t threads = std::min(cost::roundUpToWarps(rows), cost::kMaxThreads);
  StepCost step;
  step.cycles = kHandOver + kMemory + 2 * kDependent * terms;
  step.instructions = 20 + 4 * terms;
  step.warps = threads / cost::kWarpThreads;
  step.resident = countResident(threads, kRegistersWithoutEntries, 8 * rows);
  return step;
}

static StepCost getSmallCarry(double terms) {
  StepCost step;
  step.cycles = kWarpHandOver + 33 + 3 * terms;
  step.instructions = 46 + 2 * terms;
  step.resident = kMaxBlocks / 4;
  return step;
}

static GPUMappingAttr getDefaultMapping(ChainOp loop, GPUKernel kernel) {
  return GPUMappingAttr::get(loop.getContext(), kernel, cost::kWarpThreads, /*parts=*/1, /*rows=*/0,
                             /*columns=*/0, Residence::Memory, /*stages=*/0, TensorPrecision::FP32,
                             /*offset=*/{});
}

/// Ignores sums of bppsa-fuse-gradients: chunk lengths are chosen before that pass and must match
/// the run time's predictions.
static GPUMappingAttr getLinkMapping(ChainOp loop) {
  auto own = dyn_cast_or_null<GPUMappingAttr>(attrs::Mapping::of(loop));
  if (own && loop.getSumWith().empty())
    return own;
  if (loop.isGraphForm())
    return getDefaultMapping(loop, GPUKernel::BlockPerRow);
  CotangentLoop links = getCotangentLoop(loop);
  std::unique_ptr<Region> region = cloneLink(links, {});
  LoopBody body = getLoopBody(links, region->front(), {});
  body.summed.clear();
  FailureOr<MappingChoice> choice =
      chooseLoopMapping(body, /*canCooperate=*/loop.getPlan().isSequential());
  return succeeded(choice) ? choice->mapping : getDefaultMapping(loop, GPUKernel::BlockPerRow);
}

static GPUMappingAttr getColumnMapping(ChainOp loop) {
  if (loop.isGraphForm())
    return getDefaultMapping(loop, GPUKernel::BlockPerColumn);
  FailureOr<MappingChoice> choice =
      chooseTransitionMapping(getCotangentLoop(loop), /*readAhead=*/true, TensorPrecision::FP32);
  return succeeded(choice) ? choice->mapping : getDefaultMapping(loop, GPUKernel::BlockPerColumn);
}

cost::ChainCost bppsa::getDeviceCost(ChainOp loop) {
  Block &body = loop.getBody().front();
  size_t numSaved = loop.getSaved().size(), numStates = loop.getSeeds().size();
  OperandRange yielded = body.getTerminator()->getOperands();
  TypeRange arguments = body.getArgumentTypes();
  jacobian::MatrixType jacobian = inferStepJacobian(loop);
  bool isDiagonal = jacobian && jacobian.getStructure().isDiagonal();
  RegionCost region = getRegionCost(loop);

  cost::ChainCost chain;
  chain.rows = getNumElements(arguments.slice(numSaved, numStates));
  chain.columns = isDiagonal ? 1 : chain.rows;
  chain.hasOffset = !loop.getInjected().empty();
  chain.savedBytes = region.savedBytes;
  chain.emittedBytes = region.emittedBytes;
  LinkPart whole(body, yielded), states(body, yielded.take_front(numStates));
  GPUMappingAttr link = getLinkMapping(loop), columns = getColumnMapping(loop);
  chain.of(Work::Walk) = whole.getBlockStep(link, numSaved + yielded.size());
  if (columns.is(GPUKernel::ThreadPerColumn))
    chain.of(Work::Column) =
        states.getThreadStep(columns, chain.rows, arguments.take_front(numSaved));
  else if (columns.is(GPUKernel::ColumnTile))
    chain.of(Work::Column) = states.getColumnTileStep(
        columns, chain.rows, loop.getSaved(), body.getArguments().slice(numSaved, numStates));
  else
    chain.of(Work::Column) = states.getBlockStep(columns, numSaved + numStates);
  double terms = static_cast<double>(chain.columns);
  chain.of(Work::Carry) =
      chain.rows <= cost::kMaxColumnRows ? getSmallCarry(terms) : getMapStep(chain.rows, terms);
  chain.of(Work::Product) = getMapStep(chain.rows, terms * terms);
  return chain;
}

std::vector<DeviceChain> bppsa::getDeviceChains(Operation *root) {
  std::vector<DeviceChain> chains;
  root->walk([&](ChainOp chain) {
    // The host runs loops in graph form.
    if (chain.getPlan().isSequential() && !chain.isGraphForm())
      chains.push_back({getDeviceCost(chain), getLinkMapping(chain), getColumnMapping(chain)});
  });
  return chains;
}

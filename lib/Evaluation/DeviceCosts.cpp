//===- DeviceCosts.cpp - instructions of a chain on a GPU -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Counts by rules of thumb what the kernels of lib/Conversion/BPPSAToGPU issue and wait for in a
// step. The counts of instructions follow those of compiled kernels (docs/GPULowering.md), cycles
// are estimates. A calibration replaces what a cycle and an instruction take, not the counts.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Evaluation/DeviceCosts.h"
#include "bppsa/Cost/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "bppsa/Evaluation/ChainExtraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;
using cost::StepCost;
using cost::Work;

/// Cycles from the writing of a vector to shared memory, over a barrier, to its reading; of one
/// read of memory; of a dependent operation; and of a shuffle.
static constexpr double kHandOver = 60, kMemory = 500, kDependent = 4, kShuffle = 25;

/// Cycles from the writing of a vector to its reading where threads of a warp wait for each other.
static constexpr double kWarpHandOver = 45;

/// What a multiprocessor holds.
static constexpr int64_t kMostBlocks = 32, kMostResidentThreads = 2048, kSharedBytes = 227 << 10;

/// A product of tiles keeps a scheduler as busy as so many instructions.
static constexpr double kProductIssues = 4;

/// Registers of a thread that reads its matrices from memory.
static constexpr int64_t kRegistersWithoutEntries = 64;

static int64_t getNumElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getNumElements() : 1;
}

static int64_t getNumElements(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    count += getNumElements(type);
  return count;
}

/// Blocks that a multiprocessor holds of `threads` threads with so many registers each, and so many
/// bytes of shared memory together.
static int64_t countResident(int64_t threads, int64_t registers, int64_t sharedBytes) {
  // A kibibyte is the system's.
  return std::max<int64_t>(1, std::min({kMostBlocks, kMostResidentThreads / threads,
                                        cost::registersOfBlock / (registers * threads),
                                        kSharedBytes / (sharedBytes + 1024)}));
}

namespace {
/// The part of a link that a walk evaluates: what `roots` need.
class LinkPart {
public:
  LinkPart(Block &body, ValueRange roots);

  /// A step of a block that evaluates it with a thread for each row, and reads and writes
  /// `vectors` vectors.
  StepCost getBlockStep(int64_t vectors) const;
  /// A step of a warp whose threads evaluate it for columns of `rows` rows, one or a few of them
  /// for each; `saved` are the types of what a step reads.
  StepCost getThreadStep(int64_t rows, TypeRange saved) const;
  /// A step of a block that evaluates it for a column tile of `rows` rows on tensor cores;
  /// nothing where it has no product, or where column tiles do not fit.
  std::optional<StepCost> getColumnTileStep(int64_t rows, int64_t savedElements,
                                            ValueRange states) const;
  /// Whether threads can walk columns of so many rows.
  bool fitsThreads(int64_t rows) const {
    return rows <= cost::mostColumnRows && mostRows <= cost::mostColumnRows &&
           entries <= cost::mostColumnEntries;
  }

private:
  double getPathCycles(const std::optional<cost::BlockShape> &shape) const;

  SmallVector<Operation *> ops;
  ValueRange roots;
  int64_t mostRows = 1, entries = 0;
  std::vector<int64_t> columns;
  /// Different matrices, and what they multiply.
  llvm::SetVector<std::pair<Value, unsigned>> factors;
  std::vector<std::pair<int64_t, int64_t>> factorSizes;
  llvm::SetVector<Value> multiplied;
  bool hasSlices = false;
};
} // namespace

/// Instructions of an elementwise operation on one row, 0 for other operations, and the cycles
/// that pass until its result is there.
static std::pair<double, double> getRowCost(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (!cell)
    return {0, 0};
  int64_t instructions = getRowInstructions(cell.getWork());
  // Of a special function not all instructions wait for each other.
  return {instructions, std::min<int64_t>(instructions, 20) * kDependent};
}

static int64_t getNumColumns(MatVecOp product) {
  return getNumElements(product.getVector().getType());
}

LinkPart::LinkPart(Block &body, ValueRange roots) : roots(roots) {
  llvm::SetVector<Operation *> needed;
  auto add = [&](Value value) {
    if (auto type = dyn_cast<VectorType>(value.getType()); type && type.getRank() == 1)
      mostRows = std::max(mostRows, type.getDimSize(0));
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
    auto cell = dyn_cast<CellOpInterface>(needed[i]);
    hasSlices |= cell && !cell.isRowWise() && cell.getWork() == CellWork::Move;
    llvm::for_each(needed[i]->getOperands(), add);
  }
  for (Operation &op : body)
    if (needed.contains(&op))
      ops.push_back(&op);
}

/// Cycles from the begin of a step until the last root is there.
double LinkPart::getPathCycles(const std::optional<cost::BlockShape> &shape) const {
  llvm::DenseMap<Value, double> ready;
  for (Operation *op : ops) {
    double begin = 0;
    for (Value operand : op->getOperands())
      begin = std::max(begin, ready.lookup(operand));
    double cycles = getRowCost(op).second;
    if (auto product = dyn_cast<MatVecOp>(op)) {
      // Sums of products are one stage, whose vectors are handed over together.
      begin = ready.lookup(product.getVector()) + kHandOver;
      if (Value addend = product.getAddend())
        begin = std::max(begin, ready.lookup(addend));
      // Four sums side by side where the row is in registers, else one.
      double terms = getNumColumns(product);
      cycles = shape
                   ? terms / shape->parts + 2 * kDependent + kShuffle * llvm::Log2_64(shape->parts)
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

StepCost LinkPart::getBlockStep(int64_t vectors) const {
  std::optional<cost::BlockShape> shape = cost::shareRows(mostRows, columns);
  // A load for each multiply-add, or for four where rows are not shared; from memory two, with
  // their addresses.
  double perTerm = !shape ? 3.5 : shape->parts > 1 ? 2 : 1.25;
  double instructions = 10.0 + 8.0 * vectors;
  for (Operation *op : ops)
    instructions += getRowCost(op).first;
  for (int64_t count : columns)
    instructions += perTerm * llvm::divideCeil(count, shape ? shape->parts : 1);
  int64_t threads = shape ? shape->threads : cost::roundUpToWarps(mostRows);
  int64_t registers = shape ? shape->entries + cost::otherRegisters : kRegistersWithoutEntries;
  StepCost step;
  // Few instructions are issued while others wait: there is one warp, and what it waits for is
  // read.
  step.cycles = kHandOver + getPathCycles(shape) + instructions;
  step.instructions = instructions;
  step.warps = threads / cost::warpThreads;
  step.resident = countResident(threads, registers, 4 * 8 * vectors * mostRows);
  return step;
}

/// Instructions that load or store so many rows of a thread, four, two or one with each.
static int64_t countAccesses(int64_t rows) {
  return rows / 4 + llvm::popcount(static_cast<uint64_t>(rows % 4));
}

StepCost LinkPart::getThreadStep(int64_t rows, TypeRange saved) const {
  cost::ColumnShape shape = cost::shareColumn(factorSizes, !hasSlices);
  auto countRows = [&](int64_t count) { return llvm::divideCeil(count, shape.parts); };
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
      instructions += (shape.inRegisters ? 1 : 1.25) * own * getNumColumns(product);
      // Sums of rows are side by side, but may be too few for the cycles of each addition.
      depth += getNumColumns(product) * std::max(0.0, kDependent - own);
    }
  }
  if (shape.parts > 1) {
    ++handOvers;
    for (Value vector : multiplied) {
      int64_t count = getNumElements(vector.getType());
      instructions += countAccesses(countRows(count)) + llvm::divideCeil(count, 4);
    }
  }
  StepCost step;
  step.cycles = instructions + depth + kWarpHandOver * handOvers;
  step.instructions = instructions;
  step.resident =
      countResident(cost::warpThreads, 40 + 2 * values + (shape.inRegisters ? shape.entries : 0),
                    shape.inRegisters ? 0 : 4 * entries);
  step.columns = static_cast<double>(cost::warpThreads / shape.parts);
  return step;
}

std::optional<StepCost> LinkPart::getColumnTileStep(int64_t rows, int64_t savedElements,
                                                    ValueRange states) const {
  // What differs between columns, and what products read of that.
  llvm::SetVector<Value> panels(states.begin(), states.end()), shared;
  for (Operation *op : ops) {
    if (llvm::any_of(op->getOperands(), [&](Value value) { return panels.contains(value); }))
      panels.insert(op->result_begin(), op->result_end());
    if (auto product = dyn_cast<MatVecOp>(op))
      shared.insert(product.getVector());
  }
  if (shared.empty())
    return std::nullopt;
  int64_t ring = 4 * 8 * savedElements;
  if (ring > cost::mostRingBytes)
    ring /= 2;
  cost::ColumnTileNeeds needs{mostRows, rows, static_cast<int64_t>(states.size() + shared.size()),
                              0, ring};
  for (Value value : shared)
    needs.sharedRows += llvm::alignTo(getNumElements(value.getType()), cost::tileRows);
  std::optional<cost::ColumnTileShape> shape = cost::shapeColumnTile(needs);
  if (!shape)
    return std::nullopt;
  int64_t slots = shape->rowTiles, width = shape->columnTiles;

  double instructions = 40.0 + savedElements / mostRows * 2.0 * slots;
  int64_t matrices = 0;
  for (Operation *op : ops)
    instructions +=
        getRowCost(op).first * slots * (panels.contains(op->getResult(0)) ? 4 * width : 2);
  auto countDepth = [](int64_t count) { return llvm::divideCeil(count, cost::tileDepth); };
  for (int64_t count : columns)
    matrices += 8 * slots * countDepth(count);
  bool inRegisters = shape->fits(matrices);
  for (int64_t count : columns) {
    // A tile is read and split once, multiplied three times and added; so is a part of a matrix
    // that is not in registers, with its addresses.
    double ofTile = width * (8 + slots * (4 + 3 * kProductIssues)) + (inRegisters ? 0 : 25 * slots);
    instructions += countDepth(count) * ofTile;
  }
  instructions += 4 * slots * width * shared.size();
  StepCost step;
  step.cycles = instructions + kHandOver * (columns.size() + 1);
  step.instructions = instructions;
  step.warps = shape->warps;
  step.resident =
      countResident(shape->warps * cost::warpThreads, 66 + (inRegisters ? matrices : 30),
                    ring + needs.sharedRows * 4 * cost::tileColumns * width);
  int64_t numColumnTiles = llvm::divideCeil(rows, cost::tileColumns * width);
  step.columns = static_cast<double>(rows) / static_cast<double>(numColumnTiles);
  return step;
}

/// A thread has a row: of a product of a map and a vector, or of two maps.
static StepCost getMapStep(int64_t rows, double terms) {
  int64_t threads = std::min(cost::roundUpToWarps(rows), cost::mostThreads);
  StepCost step;
  step.cycles = kHandOver + kMemory + 2 * kDependent * terms;
  step.instructions = 20 + 4 * terms;
  step.warps = threads / cost::warpThreads;
  step.resident = countResident(threads, kRegistersWithoutEntries, 8 * rows);
  return step;
}

/// One warp, whose maps are in shared memory before it needs them: a row for each thread.
static StepCost getSmallCarry(double terms) {
  StepCost step;
  step.cycles = kWarpHandOver + 33 + 3 * terms;
  step.instructions = 46 + 2 * terms;
  step.resident = kMostBlocks / 4;
  return step;
}

cost::ChainCost bppsa::getDeviceCost(ChainOp loop) {
  Block &body = loop.getBody().front();
  size_t numSaved = loop.getSaved().size(), numStates = loop.getSeeds().size();
  OperandRange yielded = body.getTerminator()->getOperands();
  TypeRange arguments = body.getArgumentTypes();
  int64_t savedElements = getNumElements(arguments.take_front(numSaved));
  JacobianType jacobian = inferStepJacobian(loop);
  bool isDiagonal = jacobian && jacobian.getStructure().isDiagonal();
  RegionCost region = getRegionCost(loop);

  cost::ChainCost chain;
  chain.rows = getNumElements(arguments.slice(numSaved, numStates));
  chain.columns = isDiagonal ? 1 : chain.rows;
  chain.hasOffset = !loop.getInjected().empty();
  chain.savedBytes = region.savedBytes;
  chain.emittedBytes = region.emittedBytes;
  LinkPart whole(body, yielded), states(body, yielded.take_front(numStates));
  chain.of(Work::Walk) = whole.getBlockStep(numSaved + yielded.size());
  chain.of(Work::Column) = states.getBlockStep(numSaved + numStates);
  if (!isDiagonal && states.fitsThreads(chain.rows))
    chain.of(Work::Column) = states.getThreadStep(chain.rows, arguments.take_front(numSaved));
  else if (!isDiagonal)
    if (std::optional<StepCost> panel = states.getColumnTileStep(
            chain.rows, savedElements, body.getArguments().slice(numSaved, numStates)))
      chain.of(Work::Column) = *panel;
  double terms = static_cast<double>(chain.columns);
  chain.of(Work::Carry) =
      chain.rows <= cost::mostColumnRows ? getSmallCarry(terms) : getMapStep(chain.rows, terms);
  chain.of(Work::Product) = getMapStep(chain.rows, terms * terms);
  return chain;
}

std::vector<cost::ChainCost> bppsa::getDeviceCosts(Operation *root) {
  std::vector<cost::ChainCost> costs;
  root->walk([&](ChainOp chain) {
    if (chain.getPlan().isSequential())
      costs.push_back(getDeviceCost(chain));
  });
  return costs;
}

//===- ExpandToChunks.cpp - chunked scans as loops ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ScanLoops.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Emits the three phases. Packed rows are taken in parallel with chunks, others by the
/// operations themselves.
class ChunkLoops : public IndexEmitter {
public:
  ChunkLoops(const ChainArrays &arrays, Value chunkSize, Value numChunks);

  void beginSweep(Sweep next) { sweep = next; }
  void inParallel(Value lower, Value upper, function_ref<void(Value)> body);
  void inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body);
  void aggregate(Value chunk);
  void carry(Value chunk);
  void run(Value chunk);

  /// Replaces the results of the chain.
  void finish();

private:
  size_t getNumStates() { return arrays.stateSizes.size(); }
  /// The steps of chunk `chunk`, `count` of them.
  IndexRange getSteps(Value chunk, Value count);
  /// A slot of `ranges.rows`, without its dimension.
  ArrayWindow getSlot(Value index, std::optional<IndexRange> elements = std::nullopt) {
    return {getOne(index), rows, elements, /*dropsSlots=*/true};
  }
  /// What leaves the first chunk enters the second.
  void insertFirstCarry();

  Value chunkSize, numChunks;
  Sweep sweep = Sweep::Up;
  /// The rows that the operations of one iteration work on.
  IndexRange rows;
  /// The transition of chunk c in slot c - 1, and what enters chunk c in slot c.
  Value transitions, carries;
  /// For each state the cotangents that leave each chunk; the emitted sequences.
  SmallVector<Value> outputs;
  /// What an iteration of a parallel loop writes to each of its outputs; nothing outside of one.
  std::optional<SmallVector<std::pair<Value, ArrayWindow>>> written;
};
} // namespace

ChunkLoops::ChunkLoops(const ChainArrays &arrays, Value chunkSize, Value numChunks)
    : IndexEmitter(arrays), chunkSize(chunkSize), numChunks(numChunks), rows(arrays.getAllRows()) {
  OpFoldResult all = rows.count, slots = getAsOpFoldResult(numChunks);
  // The first chunk has no transition, and neither has the last.
  OpFoldResult inner = getAsOpFoldResult(sub(max(numChunks, constant(2)), constant(2)));
  transitions = arrays.createEmpty(inner, all, {arrays.numColumns, arrays.size});
  carries = arrays.createEmpty(getAsOpFoldResult(add(numChunks, constant(1))), all, {arrays.size});
  for (int64_t size : arrays.stateSizes)
    outputs.push_back(arrays.createEmpty(slots, all, {size}));
  Operation *yield = arrays.chain.getBody().front().getTerminator();
  for (Value emitted : yield->getOperands().drop_front(getNumStates()))
    outputs.push_back(arrays.createEmpty(getAsOpFoldResult(arrays.numSteps), all,
                                         cast<VectorType>(emitted.getType()).getShape()));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ChunkLoops::inParallel(Value lower, Value upper, function_ref<void(Value)> body) {
  SmallVector<Value> shared = sweep == Sweep::Up ? SmallVector<Value>{transitions} : outputs;
  // A loop that ends before it begins would not be one of no iterations to all targets.
  SmallVector<OpFoldResult> lowers = {getAsOpFoldResult(lower)};
  SmallVector<OpFoldResult> uppers = {getAsOpFoldResult(max(upper, lower))};
  if (arrays.isPacked()) {
    lowers.insert(lowers.begin(), arrays.getAttr(0));
    uppers.insert(uppers.begin(), getAsOpFoldResult(arrays.numRows));
  }
  SmallVector<OpFoldResult> steps(lowers.size(), arrays.getAttr(1));
  auto loop = scf::ForallOp::create(builder, arrays.loc, lowers, uppers, steps, shared,
                                    /*mapping=*/std::nullopt);
  auto assign = [&](ValueRange values) {
    if (sweep == Sweep::Up)
      transitions = values.front();
    else
      outputs.assign(values.begin(), values.end());
  };
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getTerminator());
    assign(loop.getRegionIterArgs());
    IndexRange outer = rows;
    if (arrays.isPacked())
      rows = getOne(loop.getInductionVars().front());
    written.emplace();
    body(loop.getInductionVars().back());
    rows = outer;
    for (auto [i, entry] : llvm::enumerate(*written))
      arrays.insertInParallel(loop, entry.first, loop.getRegionIterArgs()[i], entry.second);
    written.reset();
  }
  assign(loop.getResults());
}

/// The carry of each row is independent of the others: packed rows are taken in parallel.
void ChunkLoops::inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  auto emitLoop = [&] {
    insertFirstCarry();
    auto loop = scf::ForOp::create(builder, arrays.loc, lower, upper, step, ValueRange{carries});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    carries = loop.getRegionIterArgs().front();
    body(loop.getInductionVar());
    scf::YieldOp::create(builder, arrays.loc, carries);
    carries = loop.getResult(0);
  };
  if (!arrays.isPacked())
    return emitLoop();
  auto rowLoop = scf::ForallOp::create(builder, arrays.loc,
                                       ArrayRef<OpFoldResult>{getAsOpFoldResult(arrays.numRows)},
                                       ValueRange{carries}, /*mapping=*/std::nullopt);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(rowLoop.getTerminator());
    IndexRange outer = rows;
    rows = getOne(rowLoop.getInductionVars().front());
    Value shared = rowLoop.getRegionIterArgs().front();
    ArrayWindow window = {{arrays.getAttr(0), getAsOpFoldResult(add(numChunks, constant(1)))},
                          rows};
    carries = arrays.extract(shared, window);
    emitLoop();
    arrays.insertInParallel(rowLoop, carries, shared, window);
    rows = outer;
  }
  carries = rowLoop.getResult(0);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

IndexRange ChunkLoops::getSteps(Value chunk, Value count) {
  Value first = mul(chunk, chunkSize);
  if (!arrays.chain.getReverse())
    first = sub(sub(arrays.numSteps, first), count);
  return getRange(first, count);
}

void ChunkLoops::aggregate(Value chunk) {
  ArrayWindow steps = {getSteps(chunk, chunkSize), rows};
  ArrayWindow slot = getSlot(sub(chunk, constant(1)));
  Value into = arrays.extract(transitions, slot);
  Value made = createTransition(arrays, arrays.extractAll(arrays.chain.getSaved(), steps),
                                arrays.extractAll(arrays.chain.getInjected(), steps), into);
  written->emplace_back(made, slot);
}

/// `carries` holds the rows of this iteration alone.
void ChunkLoops::insertFirstCarry() {
  IndexRange own = {arrays.getAttr(0), rows.count};
  for (size_t state = 0; state < getNumStates(); ++state) {
    ArrayWindow window = {getOne(constant(1)), own, arrays.getStateRange(state), true};
    carries = arrays.insert(arrays.extract(outputs[state], getSlot(constant(0))), carries, window);
  }
}

void ChunkLoops::carry(Value chunk) {
  IndexRange own = {arrays.getAttr(0), rows.count};
  ArrayWindow from = {getOne(chunk), own, std::nullopt, true};
  ArrayWindow to = {getOne(add(chunk, constant(1))), own, std::nullopt, true};
  Value into = arrays.extract(carries, to);
  auto apply = ApplyTransitionOp::create(
      builder, arrays.loc, into.getType(),
      arrays.extract(transitions, getSlot(sub(chunk, constant(1)))), arrays.extract(carries, from),
      into, arrays.isDiagonal, arrays.chain.getLanesAttr());
  carries = arrays.insert(apply.getResult(), carries, to);
}

void ChunkLoops::run(Value chunk) {
  ChainOp chain = arrays.chain;
  bool isFirst = !written;
  Value first = mul(chunk, chunkSize);
  Value count = sub(min(add(first, chunkSize), arrays.numSteps), first);
  ArrayWindow steps = {getSteps(chunk, count), rows};
  SmallVector<Value> seeds(chain.getSeeds()), into;
  for (size_t state = 0; state < getNumStates() && !isFirst; ++state)
    seeds[state] = arrays.extract(carries, getSlot(chunk, arrays.getStateRange(state)));
  SmallVector<ArrayWindow> windows;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    windows.push_back(i < getNumStates() ? getSlot(chunk) : steps);
    into.push_back(arrays.extract(output, windows.back()));
  }
  TypeRange types = ValueRange(into);
  auto link = ChainOp::create(
      builder, arrays.loc, types.take_front(getNumStates()), types.drop_front(getNumStates()),
      /*sums=*/TypeRange(), /*plan=*/PlanAttr(), arrays.extractAll(chain.getSaved(), steps), seeds,
      arrays.extractAll(chain.getInjected(), steps), /*factors=*/ValueRange(), chain.getCaptures(),
      /*steps=*/Value(), into, /*structure=*/StructureAttr(), /*terms=*/ArrayAttr(),
      chain.getInjectIntoAttr(), chain.getProperties().sumWith, chain.getReverseAttr(),
      chain.getLanesAttr());
  IRMapping mapping;
  chain.getBody().cloneInto(&link.getBody(), mapping);
  for (auto [i, result] : llvm::enumerate(link.getResults()))
    if (isFirst)
      outputs[i] = arrays.insert(result, outputs[i], windows[i]);
    else
      written->emplace_back(result, windows[i]);
}

void ChunkLoops::finish() {
  Value last = sub(numChunks, constant(1));
  for (auto [i, result] : llvm::enumerate(arrays.chain.getResults())) {
    bool isState = i < getNumStates();
    if (isState && result.use_empty())
      continue;
    Value value = isState ? arrays.extract(outputs[i], getSlot(last)) : outputs[i];
    result.replaceAllUsesWith(arrays.cast(value, result.getType()));
  }
}

void bppsa::expandToChunks(ChainOp chain) {
  OpBuilder builder(chain);
  ChainArrays arrays(builder, chain);
  int64_t size = chain.getPlan().getSize();
  Value chunkSize =
      size > 0 ? arrays.getIndex(size)
               : emitChunkSteps(builder, chain.getLoc(), cost::cpuChunkRule, arrays.numSteps);
  Value numChunks =
      builder.createOrFold<arith::CeilDivUIOp>(chain.getLoc(), arrays.numSteps, chunkSize);
  ChunkLoops loops(arrays, chunkSize, numChunks);
  emitChunkedScan(loops, numChunks);
  loops.finish();
  chain.erase();
}

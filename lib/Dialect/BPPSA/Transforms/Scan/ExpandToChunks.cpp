//===- ExpandToChunks.cpp - chunked scans as loops ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ScanLoops.h"
#include "bppsa/CostModel/DeviceCosts.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Emits the three sweeps. Packed rows are parallel with chunks. With whole levels, carries and
/// runs also loop over rows. If the chain has sums, a run is several chunks with their own partial
/// sums.
class ChunkLoops : public IndexEmitter {
public:
  ChunkLoops(const ChainArrays &arrays, LoopForm form);

  void expand();

  void beginSweep(Sweep next);
  void inParallel(Value lower, Value upper, function_ref<void(Value)> body);
  void inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body);
  void aggregate(Value chunk);
  void carry(Value chunk);
  void run(Value run);

private:
  /// An output and the window written; unused values have no window.
  struct Write {
    size_t output = 0;
    std::optional<ArrayWindow> window;
  };

  size_t getNumStates() { return arrays.stateSizes.size(); }
  bool isFirstVector() const { return form.getFirstChunk() == FirstChunk::Vector; }
  bool iteratesOverRows() const {
    return arrays.isPacked() || (form.wholeLevels && sweep != Sweep::Up);
  }
  std::optional<ArrayAttr> getMapping(size_t rank) const {
    return form.wholeLevels ? std::optional(getBlockMapping(rank)) : std::nullopt;
  }
  int64_t countSumElements();
  void createOutputs();
  /// Returns `count` steps from `first` on, in chain order.
  IndexRange getSteps(Value first, Value count);
  ArrayWindow getSlot(Value index, std::optional<IndexRange> elements = std::nullopt) {
    return {getOne(index), rows, elements, /*dropsSlots=*/true};
  }
  ArrayWindow getTransitionSlot(Value chunk) {
    return getSlot(isFirstVector() ? sub(chunk, constant(1)) : chunk);
  }
  void insertFirstCarries();
  SmallVector<Value> getSeeds(Value run);
  SmallVector<Write> getWrites(Value run, const ArrayWindow &steps);
  SmallVector<Value> getDestinations(ArrayRef<Write> writes);
  void write(Value value, const Write &write);
  void replaceResults();

  LoopForm form;
  Value chunkSize, numChunks;
  Value chunksOfRun, numRuns;
  Sweep sweep = Sweep::Up;
  IndexRange rows;
  bool byRows;
  /// Aggregated transitions and entering cotangents, by chunk.
  Value transitions, carries;
  /// Cotangents that leave runs, for used states; then emitted sequences, then partial sums.
  SmallVector<Value> outputs;
  /// Writes of the current parallel iteration; nullopt outside of one.
  std::optional<SmallVector<std::pair<Value, Write>>> written;
};
} // namespace

/// Returns true if the threads that compute the transitions of `chain` have neighboring columns.
/// Transitions are then stored by rows.
static bool isStoredByRows(const ChainArrays &arrays) {
  ChainOp chain = arrays.chain;
  if (arrays.isDiagonal || !chain.getInjected().empty())
    return false;
  FailureOr<MappingChoice> columns =
      chooseTransitionMapping(getCotangentLoop(chain), /*readAhead=*/true, TensorPrecision::FP32);
  return succeeded(columns) && columns->mapping.is(GPUKernel::ThreadPerColumn);
}

ChunkLoops::ChunkLoops(const ChainArrays &arrays, LoopForm form)
    : IndexEmitter(arrays), form(form), rows(arrays.getAllRows()),
      byRows(form.wholeLevels && isStoredByRows(arrays)) {
  cost::ChunkRule rule =
      form.wholeLevels ? cost::getChunkRule(getDeviceCost(arrays.chain)) : cost::kCpuChunkRule;
  chunkSize = emitChunkSize(arrays, rule);
  numChunks = builder.createOrFold<arith::CeilDivUIOp>(arrays.loc, arrays.numSteps, chunkSize);
  chunksOfRun = constant(1);
  numRuns = numChunks;
  if (int64_t numElements = countSumElements()) {
    chunksOfRun = emitChunksPerRun(builder, arrays.loc, numChunks, arrays.numRows, numElements);
    numRuns = builder.createOrFold<arith::CeilDivUIOp>(arrays.loc, numChunks, chunksOfRun);
  }
  // The last chunk, and a first chunk run as a vector, have no transition.
  Value without = constant(isFirstVector() ? 2 : 1);
  OpFoldResult all = rows.count;
  transitions = arrays.createEmpty(getAsOpFoldResult(sub(max(numChunks, without), without)), all,
                                   {arrays.numColumns, arrays.size});
  Value numCarries = isFirstVector() ? add(numChunks, constant(1)) : numChunks;
  carries = arrays.createEmpty(getAsOpFoldResult(numCarries), all, {arrays.size});
}

int64_t ChunkLoops::countSumElements() {
  int64_t count = 0;
  for (Value sum : arrays.chain.getSums())
    count += cast<ShapedType>(sum.getType()).getNumElements();
  return count;
}

void ChunkLoops::createOutputs() {
  ChainOp chain = arrays.chain;
  OpFoldResult slots = getAsOpFoldResult(numRuns), all = rows.count;
  for (auto [size, result] : llvm::zip_equal(arrays.stateSizes, chain.getCotangents()))
    if (!form.wholeLevels || !result.use_empty())
      outputs.push_back(arrays.createEmpty(slots, all, {size}));
  ValueRange yielded = chain.getBody().front().getTerminator()->getOperands();
  for (Value emitted : yielded.slice(getNumStates(), chain.getEmitted().size()))
    outputs.push_back(arrays.createEmpty(getAsOpFoldResult(arrays.numSteps), all,
                                         cast<VectorType>(emitted.getType()).getShape()));
  if (!chain.getSums().empty())
    outputs.push_back(arrays.createEmpty(slots, all, {countSumElements()}));
}

void ChunkLoops::expand() {
  emitChunkedScan(*this, numChunks, form.getFirstChunk());
  replaceResults();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ChunkLoops::beginSweep(Sweep next) {
  sweep = next;
  if (next == (isFirstVector() ? Sweep::Up : Sweep::Down))
    createOutputs();
}

void ChunkLoops::inParallel(Value lower, Value upper, function_ref<void(Value)> body) {
  SmallVector<Value> shared = sweep == Sweep::Up ? SmallVector<Value>{transitions} : outputs;
  if (sweep == Sweep::Down)
    upper = numRuns;
  // Not all targets treat upper < lower as empty.
  SmallVector<OpFoldResult> lowers = {getAsOpFoldResult(lower)};
  SmallVector<OpFoldResult> uppers = {getAsOpFoldResult(max(upper, lower))};
  if (iteratesOverRows()) {
    lowers.insert(lowers.begin(), arrays.getAttr(0));
    uppers.insert(uppers.begin(), getAsOpFoldResult(arrays.numRows));
  }
  SmallVector<OpFoldResult> steps(lowers.size(), arrays.getAttr(1));
  auto loop = scf::ForallOp::create(builder, arrays.loc, lowers, uppers, steps, shared,
                                    getMapping(lowers.size()));
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
    if (iteratesOverRows())
      rows = getOne(loop.getInductionVars().front());
    written.emplace();
    body(loop.getInductionVars().back());
    rows = outer;
    for (auto &[value, target] : *written)
      arrays.insertInParallel(loop, value, loop.getRegionIterArgs()[target.output], *target.window);
    written.reset();
  }
  assign(loop.getResults());
}

/// Rows are independent and carried in parallel.
void ChunkLoops::inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  auto emitLoop = [&] {
    insertFirstCarries();
    auto loop = scf::ForOp::create(builder, arrays.loc, lower, upper, step, ValueRange{carries});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    carries = loop.getRegionIterArgs().front();
    body(loop.getInductionVar());
    scf::YieldOp::create(builder, arrays.loc, carries);
    carries = loop.getResult(0);
  };
  if (!iteratesOverRows())
    return emitLoop();
  auto rowLoop = scf::ForallOp::create(builder, arrays.loc,
                                       ArrayRef<OpFoldResult>{getAsOpFoldResult(arrays.numRows)},
                                       ValueRange{carries}, getMapping(1));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(rowLoop.getTerminator());
    IndexRange outer = rows;
    rows = getOne(rowLoop.getInductionVars().front());
    Value shared = rowLoop.getRegionIterArgs().front();
    Value count = isFirstVector() ? add(numChunks, constant(1)) : numChunks;
    ArrayWindow window = {{arrays.getAttr(0), getAsOpFoldResult(count)}, rows};
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

IndexRange ChunkLoops::getSteps(Value first, Value count) {
  if (!arrays.chain.getReverse())
    first = sub(sub(arrays.numSteps, first), count);
  return getRange(first, count);
}

void ChunkLoops::aggregate(Value chunk) {
  ArrayWindow steps = {getSteps(mul(chunk, chunkSize), chunkSize), rows};
  ArrayWindow slot = getTransitionSlot(chunk);
  Value into = arrays.extract(transitions, slot);
  Value made = createTransition(arrays, arrays.extractAll(arrays.chain.getSaved(), steps),
                                arrays.extractAll(arrays.chain.getInjected(), steps), into, byRows);
  written->emplace_back(made, Write{0, slot});
}

/// Stores the cotangents that enter the first aggregated chunk: the seeds, or results of a first
/// vector chunk.
void ChunkLoops::insertFirstCarries() {
  IndexRange own = {arrays.getAttr(0), rows.count};
  for (size_t state = 0; state < getNumStates(); ++state) {
    Value entering = isFirstVector() ? arrays.extract(outputs[state], getSlot(constant(0)))
                                     : arrays.extractRows(arrays.chain.getSeeds()[state], rows);
    ArrayWindow window = {getOne(constant(isFirstVector() ? 1 : 0)), own,
                          arrays.getStateRange(state), true};
    carries = arrays.insert(entering, carries, window);
  }
}

void ChunkLoops::carry(Value chunk) {
  IndexRange own = {arrays.getAttr(0), rows.count};
  ArrayWindow from = {getOne(chunk), own, std::nullopt, true};
  ArrayWindow to = {getOne(add(chunk, constant(1))), own, std::nullopt, true};
  Value into = arrays.extract(carries, to);
  auto apply = ApplyTransitionOp::create(
      builder, arrays.loc, into.getType(), arrays.extract(transitions, getTransitionSlot(chunk)),
      arrays.extract(carries, from), into, arrays.isDiagonal, byRows, arrays.chain.getLanesAttr());
  carries = arrays.insert(apply.getResult(), carries, to);
}

SmallVector<Value> ChunkLoops::getSeeds(Value run) {
  SmallVector<Value> seeds(arrays.chain.getSeeds());
  // Outside a parallel loop, this is the first chunk.
  for (size_t state = 0; state < getNumStates() && written; ++state)
    seeds[state] =
        arrays.extract(carries, getSlot(mul(run, chunksOfRun), arrays.getStateRange(state)));
  return seeds;
}

SmallVector<ChunkLoops::Write> ChunkLoops::getWrites(Value run, const ArrayWindow &steps) {
  ChainOp chain = arrays.chain;
  SmallVector<Write> writes;
  size_t output = 0;
  for (Value state : chain.getCotangents())
    if (!form.wholeLevels || !state.use_empty())
      writes.push_back({output++, getSlot(run)});
    else
      writes.emplace_back();
  for (size_t i = 0; i < chain.getEmitted().size(); ++i)
    writes.push_back({output++, steps});
  if (!chain.getSums().empty()) {
    ArrayWindow part = getSlot(run);
    part.dropsRows = true;
    writes.push_back({output++, part});
  }
  return writes;
}

SmallVector<Value> ChunkLoops::getDestinations(ArrayRef<Write> writes) {
  SmallVector<Value> into;
  for (auto [i, target] : llvm::enumerate(writes))
    into.push_back(target.window ? arrays.extract(outputs[target.output], *target.window)
                                 : arrays.createEmpty({rows.count}, {arrays.stateSizes[i]}));
  return into;
}

void ChunkLoops::write(Value value, const Write &write) {
  if (!write.window)
    return;
  if (written)
    written->emplace_back(value, write);
  else
    outputs[write.output] = arrays.insert(value, outputs[write.output], *write.window);
}

void ChunkLoops::run(Value run) {
  ChainOp chain = arrays.chain;
  Value runSize = mul(chunksOfRun, chunkSize), first = mul(run, runSize);
  Value count = sub(min(add(first, runSize), arrays.numSteps), first);
  ArrayWindow steps = {getSteps(first, count), rows};
  SmallVector<Write> writes = getWrites(run, steps);
  SmallVector<Value> into = getDestinations(writes);
  ChainOp made = createRun(arrays, {arrays.extractAll(chain.getSaved(), steps), getSeeds(run),
                                    arrays.extractAll(chain.getInjected(), steps),
                                    arrays.extractAll(chain.getFactors(), steps), into});
  for (auto [result, target] : llvm::zip_equal(made.getResults(), writes))
    write(result, target);
}

void ChunkLoops::replaceResults() {
  ChainOp chain = arrays.chain;
  ArrayWindow all = {};
  SmallVector<Write> writes = getWrites(sub(numRuns, constant(1)), all);
  auto replace = [&](Value result, Value value) {
    result.replaceAllUsesWith(arrays.cast(value, result.getType()));
  };
  for (auto [result, target] : llvm::zip(chain.getCotangents(), writes))
    if (target.window && !result.use_empty())
      replace(result, arrays.extract(outputs[target.output], *target.window));
  for (auto [result, target] :
       llvm::zip(chain.getEmitted(), ArrayRef(writes).drop_front(getNumStates())))
    replace(result, outputs[target.output]);
  if (chain.getSums().empty())
    return;
  auto sums = ReduceSumsOp::create(builder, arrays.loc, chain.getSums().getTypes(), outputs.back(),
                                   /*destinations=*/ValueRange());
  chain.getSums().replaceAllUsesWith(sums.getSums());
}

void bppsa::expandToChunks(ChainOp chain, LoopForm form) {
  OpBuilder builder(chain);
  ChainArrays arrays(builder, chain);
  ChunkLoops(arrays, form).expand();
  chain.erase();
}

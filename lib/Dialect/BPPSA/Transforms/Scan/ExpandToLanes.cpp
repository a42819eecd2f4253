//===- ExpandToLanes.cpp - chunked scans with chunks in lanes -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Fills vectors with chunks of time when samples are few. All chunks but the last, which may be
// shorter, are rows of one transition and one chain, in the order of `emitChunkedScan`.
//
//===----------------------------------------------------------------------===//

#include "ScanLoops.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// The chain's arrays have one lane: `[B, T, N, 1]`.
class ChunkLanes : public IndexEmitter {
public:
  ChunkLanes(const ChainArrays &arrays, int64_t lanes);

  void expand();

private:
  Value pack(Value source, Value steps);
  SmallVector<Value> packAll(ValueRange sequences);
  /// Rows have `inner` values and, if given, a dimension for `steps`.
  Value createRows(std::optional<OpFoldResult> steps, ArrayRef<int64_t> inner);
  ArrayWindow getSlot(Value slot, std::optional<IndexRange> elements = std::nullopt) {
    return {getOne(slot), arrays.getAllRows(), elements, /*dropsSlots=*/true};
  }
  Value aggregate();
  Value insertSeeds(Value carries);
  Value carry(Value transitions);
  SmallVector<Value> getSeedsOfRows(Value carries);
  void runRows(Value carries);
  void runLast(Value carries);

  int64_t lanes;
  Value chunkSize;
  /// Chunks of each sample in lanes; vectors of all samples.
  Value numChunks, numBlocks;
  /// Steps of these chunks and of the last.
  ArrayWindow inLanes, last;
  /// Sequences that the link reads, and emitted ones.
  SmallVector<Value> saved, injected, emitted;
};
} // namespace

ChunkLanes::ChunkLanes(const ChainArrays &arrays, int64_t lanes)
    : IndexEmitter(arrays), lanes(lanes), chunkSize(emitChunkSize(arrays, cost::kCpuChunkRule)) {
  Value one = constant(1), zero = constant(0);
  numChunks = div(sub(max(arrays.numSteps, one), one), chunkSize);
  Value rows = mul(arrays.numRows, numChunks);
  numBlocks = builder.createOrFold<arith::CeilDivUIOp>(arrays.loc, rows, constant(lanes));
  Value count = mul(numChunks, chunkSize), rest = sub(arrays.numSteps, count);
  bool reverse = arrays.chain.getReverse();
  inLanes = {getRange(reverse ? zero : rest, count), arrays.getAllRows()};
  last = {getRange(reverse ? count : zero, rest), arrays.getAllRows()};
}

void ChunkLanes::expand() {
  saved = packAll(arrays.chain.getSaved());
  injected = packAll(arrays.chain.getInjected());
  Value transitions = aggregate();
  Value carries = carry(transitions);
  ChainOp chain = arrays.chain;
  ValueRange yielded = chain.getBody().front().getTerminator()->getOperands();
  for (Value value : yielded.drop_front(arrays.stateSizes.size()))
    emitted.push_back(arrays.createEmpty(getAsOpFoldResult(arrays.numSteps),
                                         getAsOpFoldResult(arrays.numRows),
                                         cast<VectorType>(value.getType()).getShape()));
  runRows(carries);
  runLast(carries);
  for (auto [result, value] : llvm::zip_equal(chain.getEmitted(), emitted))
    result.replaceAllUsesWith(arrays.cast(value, result.getType()));
}

/// Returns kDynamic if `value` is not constant.
static int64_t getStatic(Value value) {
  return getConstantIntValue(value).value_or(ShapedType::kDynamic);
}

Value ChunkLanes::pack(Value source, Value steps) {
  auto type = cast<RankedTensorType>(source.getType());
  auto packed = RankedTensorType::get(
      {getStatic(numBlocks), getStatic(steps), type.getDimSize(2), lanes}, type.getElementType());
  return PackChunksOp::create(builder, arrays.loc, packed, source, steps, /*destination=*/Value(),
                              builder.getI64IntegerAttr(lanes))
      .getResult();
}

SmallVector<Value> ChunkLanes::packAll(ValueRange sequences) {
  return llvm::map_to_vector(
      sequences, [&](Value value) { return pack(arrays.extract(value, inLanes), chunkSize); });
}

Value ChunkLanes::createRows(std::optional<OpFoldResult> steps, ArrayRef<int64_t> inner) {
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(numBlocks)};
  if (steps)
    sizes.push_back(*steps);
  for (int64_t size : inner)
    sizes.push_back(arrays.getAttr(size));
  sizes.push_back(arrays.getAttr(lanes));
  return tensor::EmptyOp::create(builder, arrays.loc, sizes,
                                 getElementTypeOrSelf(arrays.chain.getSeeds().front()));
}

static Value reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape,
                     ArrayRef<ReassociationIndices> groups) {
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  if (type.getRank() > cast<RankedTensorType>(value.getType()).getRank())
    return tensor::ExpandShapeOp::create(builder, loc, type, value, groups);
  return tensor::CollapseShapeOp::create(builder, loc, type, value, groups);
}

/// Returns `[B, chunks, columns, values, 1]`.
Value ChunkLanes::aggregate() {
  int64_t blocks = getStatic(numBlocks);
  int64_t columns = arrays.numColumns, entries = columns * arrays.size;
  Value made =
      createTransition(arrays, saved, injected, createRows(std::nullopt, {columns, arrays.size}));
  made = reshape(builder, arrays.loc, made, {blocks, entries, lanes}, {{0}, {1, 2}, {3}});
  made = reshape(builder, arrays.loc, made, {blocks, 1, entries, lanes}, {{0, 1}, {2}, {3}});
  Value into = arrays.createEmpty(getAsOpFoldResult(numChunks), getAsOpFoldResult(arrays.numRows),
                                  {entries});
  Value rows = UnpackChunksOp::create(builder, arrays.loc, into.getType(), made, into,
                                      builder.getI64IntegerAttr(lanes))
                   .getResult();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(rows.getType()).getShape();
  return reshape(builder, arrays.loc, rows, {shape[0], shape[1], columns, arrays.size, 1},
                 {{0}, {1}, {2, 3}, {4}});
}

/// Slots are ordered by time: slot k + 1 enters chunk k, which leaves to slot k; with `reverse`,
/// vice versa.
Value ChunkLanes::insertSeeds(Value carries) {
  Value first = arrays.chain.getReverse() ? constant(0) : numChunks;
  for (auto [state, seed] : llvm::enumerate(arrays.chain.getSeeds()))
    carries = arrays.insert(seed, carries, getSlot(first, arrays.getStateRange(state)));
  return carries;
}

/// Returns the entering cotangents, `[B, chunks + 1, values, 1]`.
Value ChunkLanes::carry(Value transitions) {
  ChainOp chain = arrays.chain;
  Value one = constant(1), count = add(numChunks, one);
  Value carries = insertSeeds(arrays.createEmpty(getAsOpFoldResult(count),
                                                 getAsOpFoldResult(arrays.numRows), {arrays.size}));
  auto loop = scf::ForOp::create(builder, arrays.loc, constant(0), numChunks, one, carries);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  carries = loop.getRegionIterArgs().front();
  Value chunk = loop.getInductionVar();
  Value from = chunk, to = add(chunk, one);
  if (!chain.getReverse()) {
    from = sub(numChunks, chunk);
    chunk = to = sub(from, one);
  }
  Value into = arrays.extract(carries, getSlot(to));
  auto apply = ApplyTransitionOp::create(
      builder, arrays.loc, into.getType(), arrays.extract(transitions, getSlot(chunk)),
      arrays.extract(carries, getSlot(from)), into, arrays.isDiagonal,
      /*by_rows=*/false, chain.getLanesAttr());
  scf::YieldOp::create(builder, arrays.loc, arrays.insert(apply.getResult(), carries, getSlot(to)));
  return loop.getResult(0);
}

SmallVector<Value> ChunkLanes::getSeedsOfRows(Value carries) {
  Value one = constant(1);
  ArrayWindow window = {getRange(arrays.chain.getReverse() ? constant(0) : one, numChunks),
                        arrays.getAllRows()};
  SmallVector<Value> seeds;
  for (auto [state, size] : llvm::enumerate(arrays.stateSizes)) {
    window.elements = arrays.getStateRange(state);
    Value packed = pack(arrays.extract(carries, window), one);
    seeds.push_back(reshape(builder, arrays.loc, packed, {getStatic(numBlocks), size, lanes},
                            {{0, 1}, {2}, {3}}));
  }
  return seeds;
}

void ChunkLanes::runRows(Value carries) {
  ChainRun run = {saved, getSeedsOfRows(carries), injected};
  for (int64_t size : arrays.stateSizes)
    run.into.push_back(createRows(std::nullopt, {size}));
  for (Value sequence : emitted)
    run.into.push_back(createRows(getAsOpFoldResult(chunkSize),
                                  {cast<RankedTensorType>(sequence.getType()).getDimSize(2)}));
  ChainOp rows = createRun(arrays, run);
  for (auto [sequence, made] : llvm::zip_equal(emitted, rows.getEmitted())) {
    Value into = arrays.extract(sequence, inLanes);
    auto unpacked = UnpackChunksOp::create(builder, arrays.loc, into.getType(), made, into,
                                           builder.getI64IntegerAttr(lanes));
    sequence = arrays.insert(unpacked.getResult(), sequence, inLanes);
  }
}

/// The last chunk has at least one step; its cotangents leave the chain.
void ChunkLanes::runLast(Value carries) {
  ChainOp chain = arrays.chain;
  Value slot = chain.getReverse() ? numChunks : constant(0);
  ChainRun run = {
      arrays.extractAll(chain.getSaved(), last), {}, arrays.extractAll(chain.getInjected(), last)};
  for (auto [state, size] : llvm::enumerate(arrays.stateSizes)) {
    run.seeds.push_back(arrays.extract(carries, getSlot(slot, arrays.getStateRange(state))));
    run.into.push_back(arrays.createEmpty({getAsOpFoldResult(arrays.numRows)}, {size}));
  }
  llvm::append_range(run.into, arrays.extractAll(emitted, last));
  ChainOp made = createRun(arrays, run);
  for (auto [result, value] : llvm::zip_equal(chain.getCotangents(), made.getCotangents()))
    result.replaceAllUsesWith(arrays.cast(value, result.getType()));
  for (auto [sequence, value] : llvm::zip_equal(emitted, made.getEmitted()))
    sequence = arrays.insert(value, sequence, last);
}

void bppsa::expandToLanes(ChainOp chain, int64_t lanes) {
  OpBuilder builder(chain);
  ChainArrays arrays(builder, chain);
  ChunkLanes(arrays, lanes).expand();
  chain.erase();
}

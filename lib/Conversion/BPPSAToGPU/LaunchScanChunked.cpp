//===- LaunchScanChunked.cpp - the three phases of a chunked scan ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// 1. Few threads or a block for each column of each chunk but the last run it: the map
//    of its links.
// 2. A block for each sample carries the cotangent across chunks, in order.
// 3. A block for each chunk runs it again from its carry, and emits. Where it also adds
//    up sums, it may have several chunks.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "TimeLoops/AffineMaps.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "bppsa/Evaluation/DeviceCosts.h"

using namespace mlir;
using namespace bppsa;

/// Bytes of shared memory for maps that are read ahead: there are few blocks, one for
/// each sample.
static constexpr int64_t kMostBytesOfMaps = 40 * 1024;

namespace {
class ChunkedLaunch {
public:
  ChunkedLaunch(const CotangentLoop &loop, TransitionLoops aggregate, BlockLoop steps)
      : loop(loop), aggregate(std::move(aggregate)), again(std::move(steps)),
        loc(loop.op->getLoc()), size(loop.getTotalSize()), element(loop.getElementType()) {}

  void launch(int64_t chunkSteps) {
    OpBuilder builder(loop.op);
    numSteps = countSteps(builder, loop);
    numSamples = countSamples(builder, loop);
    chunk = chunkSteps > 0
                ? getIndex(builder, loc, chunkSteps)
                : emitChunkSteps(builder, loc,
                                 cost::getChunkRule(getDeviceCost(cast<ChainOp>(loop.op))),
                                 numSteps, numSamples);
    numChunks = arith::CeilDivUIOp::create(builder, loc, numSteps, chunk);
    lastChunk = addIndex(builder, loc, numChunks, -1);
    maps = DeviceMaps::allocate(builder, loop, lastChunk, aggregate.canStoreByRows());
    auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic, size}, element);
    carries = memref::AllocOp::create(builder, loc, type, ValueRange{numSamples, numChunks},
                                      builder.getI64IntegerAttr(64));
    aggregate.launch(builder, maps, lastChunk,
                     [&](OpBuilder &nested, Value index) -> TransitionLoops::Run {
                       auto [first, last] = getRange(nested, index);
                       return {first, last, index};
                     });
    launchCarries(builder);
    memref::DeallocOp::create(builder, loc, maps.memref);
    launchAll(builder);
    memref::DeallocOp::create(builder, loc, carries);
  }

private:
  std::pair<Value, Value> getRange(OpBuilder &builder, Value index) {
    Value first = mulIndex(builder, loc, index, chunk);
    Value last = minIndex(builder, loc, addIndex(builder, loc, first, chunk), numSteps);
    return {first, last};
  }

  /// Each thread of a block makes one row of the next carry; a barrier hands it to
  /// the others. Maps are read ahead where can be held them.
  void launchCarries(OpBuilder &builder) {
    int64_t numThreads = std::min(roundUpToWarps(size), kMostThreads);
    Value joined = joinColumns(builder);
    StepRing ring(loc, joined, countStages(joined, kMostBytesOfMaps));
    SmallVector<MemRefType> shared = ring.getSharedTypes();
    shared.push_back(MemRefType::get({2, padRows(size)}, element));
    emitLaunch(builder, loc, numSamples, numThreads, shared,
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 state = thread.shared.back();
                 Value zero = getIndex(nested, loc, 0);
                 emitRows(nested, loc, thread, size, [&](OpBuilder &inside, Value row) {
                   Value seed = loadSeed(inside, loop, thread.block, row);
                   Place{state, {zero}}.store(inside, loc, seed, row);
                   getCarry(thread.block, zero).store(inside, loc, seed, row);
                 });
                 emitBarrier(nested, loc);
                 emitIf(nested, loc, isBelow(nested, loc, zero, lastChunk), [&](OpBuilder &some) {
                   ring.begin(some, thread, thread.shared.drop_back(), thread.block, zero,
                              lastChunk, [](OpBuilder &, Value index) { return index; });
                   emitCarries(some, thread, ring);
                 });
               });
  }

  /// The maps as vectors, `[map, sample, entry]`.
  Value joinColumns(OpBuilder &builder) {
    SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
    return memref::CollapseShapeOp::create(builder, loc, maps.memref, groups);
  }

  Place getCarry(Value sample, Value index) const { return {carries, {sample, index}}; }

  void emitCarries(OpBuilder &builder, const LaunchedThread &thread, StepRing &ring) {
    Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
    bool isInRing = ring.isUsed() && size <= thread.numThreads;
    emitLoop(builder, loc, zero, lastChunk, [&](OpBuilder &step, Value index) {
      Value before = arith::AndIOp::create(step, loc, index, one);
      Place from = {state, {before}};
      Place to = {state, {arith::XOrIOp::create(step, loc, before, one)}};
      Place carry = getCarry(thread.block, addIndex(step, loc, index, 1));
      if (isInRing)
        emitCarry(step, thread, ring, index, from, to, carry);
      else
        emitRows(step, loc, thread, size, [&](OpBuilder &inside, Value row) {
          Value value = emitApply(inside, loc, maps.getMap(thread.block, index), from, row);
          to.store(inside, loc, value, row);
          carry.store(inside, loc, value, row);
        });
      if (!isInRing)
        ring.request(step, index);
      ring.wait(step);
      emitBarrier(step, loc);
    });
  }

  /// Without branches but for what goes to memory: threads without a row have spare ones.
  /// The map that is asked for, farthest ahead, is behind the loads that are waited for.
  void emitCarry(OpBuilder &builder, const LaunchedThread &thread, StepRing &ring, Value index,
                 const Place &from, const Place &to, const Place &carry) {
    Value row = minIndex(builder, loc, thread.thread, getIndex(builder, loc, size - 1));
    Place map = ring.getPlaces(builder, index)[0];
    MapRow loaded = MapRow::load(builder, loc, maps, map, from, row);
    ring.request(builder, index);
    Value value = loaded.apply(builder, loc);
    to.store(builder, loc, value, thread.thread);
    emitIf(builder, loc, isBelow(builder, loc, thread.thread, getIndex(builder, loc, size)),
           [&](OpBuilder &owned) { carry.store(owned, loc, value, row); });
  }

  void launchAll(OpBuilder &builder) {
    Value numLoops = mulIndex(builder, loc, numSamples, numChunks);
    auto body = [&](OpBuilder &nested, const LaunchedThread &thread, Value number) {
      SmallVector<Value> digits = splitIndex(nested, loc, number, {Value(), numChunks});
      Value sample = digits[0], index = digits[1];
      auto [first, last] = getRange(nested, index);
      again.runFrom(nested, thread, sample, {carries, {sample, index}}, first, last,
                    isEqual(nested, loc, index, lastChunk));
    };
    again.launchAll(builder, numLoops, body);
  }

  CotangentLoop loop;
  TransitionLoops aggregate;
  BlockLoop again;
  Location loc;
  int64_t size;
  Type element;
  DeviceMaps maps = {};
  Value numSteps, numSamples, chunk, numChunks, lastChunk, carries;
  /// The carry, twice, in the block that is launched.
  Value state;
};
} // namespace

LogicalResult bppsa::launchChunked(const CotangentLoop &loop, int64_t chunkSteps) {
  FailureOr<TransitionLoops> aggregate =
      TransitionLoops::create(loop, getTransitionMapping(loop.op));
  FailureOr<BlockLoop> steps = BlockLoop::create(loop, {}, getMapping(loop.op));
  if (failed(aggregate) || failed(steps))
    return failure();
  ChunkedLaunch(loop, std::move(*aggregate), std::move(*steps)).launch(chunkSteps);
  return success();
}

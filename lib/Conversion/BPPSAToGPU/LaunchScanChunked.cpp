//===- LaunchScanChunked.cpp - the three phases of a chunked scan ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// 1. A thread or a block for each column of each chunk but the last walks it: the map
//    of its links.
// 2. A block for each sample carries the cotangent across chunks, in order.
// 3. A block for each chunk walks it again from its carry, and emits.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/ScanSizes.h"
#include "AffineMaps.h"
#include "BPPSAToGPU.h"

using namespace mlir;
using namespace bppsa;

namespace {
class ChunkedLaunch {
public:
  ChunkedLaunch(const CotangentLoop &loop, MapWalks aggregate, BlockWalk walk)
      : loop(loop), aggregate(std::move(aggregate)), again(std::move(walk)), loc(loop.op->getLoc()),
        size(loop.getTotalSize()),
        element(cast<MemRefType>(loop.seeds[0].getType()).getElementType()) {}

  void launch(int64_t chunkSteps) {
    OpBuilder builder(loop.op);
    numSteps = countSteps(builder, loop);
    numSamples = countSamples(builder, loop);
    chunk = chunkSteps > 0 ? getIndex(builder, loc, chunkSteps)
                           : emitChunkSteps(builder, loc, numSteps);
    numChunks = arith::CeilDivUIOp::create(builder, loc, numSteps, chunk);
    lastChunk = addIndex(builder, loc, numChunks, -1);
    maps = DeviceMaps::allocate(builder, loop, lastChunk);
    auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic, size}, element);
    carries = memref::AllocOp::create(builder, loc, type, ValueRange{numSamples, numChunks},
                                      builder.getI64IntegerAttr(64));
    aggregate.launch(builder, maps, lastChunk, /*first=*/0,
                     [&](OpBuilder &nested, Value index) { return getRange(nested, index); });
    launchCarries(builder);
    launchWalks(builder);
    memref::DeallocOp::create(builder, loc, maps.memref);
    memref::DeallocOp::create(builder, loc, carries);
  }

private:
  std::pair<Value, Value> getRange(OpBuilder &builder, Value index) {
    Value first = mulIndex(builder, loc, index, chunk);
    Value last = minIndex(builder, loc, addIndex(builder, loc, first, chunk), numSteps);
    return {first, last};
  }

  /// Each thread of a block makes one row of the next carry; a barrier hands it to
  /// the others.
  void launchCarries(OpBuilder &builder) {
    Value zero = getIndex(builder, loc, 0), one = getIndex(builder, loc, 1);
    int64_t numThreads = std::min(roundUpToWarps(size), kMostThreads);
    auto shared = MemRefType::get({2, size}, element);
    auto body = [&](OpBuilder &nested, const LaunchedThread &thread) {
      Value state = thread.shared[0], sample = thread.block;
      auto hand = [&](OpBuilder &inside, Value copy, Value index, Value row, Value value) {
        Place{state, {copy}}.store(inside, loc, value, row);
        Place{carries, {sample, index}}.store(inside, loc, value, row);
      };
      emitRows(nested, loc, thread, size, [&](OpBuilder &inside, Value row) {
        hand(inside, zero, zero, row, loadSeed(inside, loop, sample, row));
      });
      emitBarrier(nested, loc);
      emitLoop(nested, loc, zero, lastChunk, [&](OpBuilder &step, Value index) {
        Value before = arith::AndIOp::create(step, loc, index, one);
        Value after = arith::XOrIOp::create(step, loc, before, one);
        Value next = addIndex(step, loc, index, 1);
        emitRows(step, loc, thread, size, [&](OpBuilder &inside, Value row) {
          Value value = emitApply(inside, loc, maps, sample, index, Place{state, {before}}, row);
          hand(inside, after, next, row, value);
        });
        emitBarrier(step, loc);
      });
    };
    emitLaunch(builder, loc, numSamples, numThreads, shared, body);
  }

  void launchWalks(OpBuilder &builder) {
    Value numBlocks = mulIndex(builder, loc, numSamples, numChunks);
    again.launch(builder, numBlocks, [&](OpBuilder &nested, const LaunchedThread &thread) {
      SmallVector<Value> digits = splitIndex(nested, loc, thread.block, {Value(), numChunks});
      Value sample = digits[0], index = digits[1];
      auto [first, last] = getRange(nested, index);
      again.walkFrom(nested, thread, sample, {carries, {sample, index}}, first, last,
                     isEqual(nested, loc, index, lastChunk));
    });
  }

  CotangentLoop loop;
  MapWalks aggregate;
  BlockWalk again;
  Location loc;
  int64_t size;
  Type element;
  DeviceMaps maps = {};
  Value numSteps, numSamples, chunk, numChunks, lastChunk, carries;
};
} // namespace

LogicalResult bppsa::launchChunked(const CotangentLoop &loop, int64_t chunkSteps) {
  FailureOr<MapWalks> aggregate = MapWalks::create(loop, /*readAhead=*/true);
  FailureOr<BlockWalk> walk = BlockWalk::create(loop, {});
  if (failed(aggregate) || failed(walk))
    return failure();
  ChunkedLaunch(loop, std::move(*aggregate), std::move(*walk)).launch(chunkSteps);
  return success();
}

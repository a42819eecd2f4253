//===- WarpRows.cpp - one warp per row of a sparse product ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "WarpRows.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static constexpr int64_t kWarps = 4;

Value WarpRow::foldEntries(OpBuilder &builder, Value first, Value last, Value value,
                           function_ref<Value(OpBuilder &, Value, Value)> body) const {
  auto loop =
      scf::ForOp::create(builder, loc, addIndex(builder, loc, first, part), last, numParts, value,
                         [&](OpBuilder &nested, Location, Value entry, ValueRange running) {
                           scf::YieldOp::create(nested, loc, body(nested, entry, running[0]));
                         });
  return loop.getResult(0);
}

void WarpRow::forEachEntry(OpBuilder &builder, Value first, Value last,
                           function_ref<void(OpBuilder &, Value)> body) const {
  scf::ForOp::create(builder, loc, addIndex(builder, loc, first, part), last, numParts,
                     ValueRange(), [&](OpBuilder &nested, Location, Value entry, ValueRange) {
                       body(nested, entry);
                       scf::YieldOp::create(nested, loc);
                     });
}

void WarpRow::forEachSample(
    OpBuilder &builder,
    function_ref<void(OpBuilder &, const SampleBlock &, Value isOwn)> body) const {
  scf::ForOp::create(builder, loc, getIndex(builder, loc, 0), numSamples, numSampleLanes,
                     ValueRange(), [&](OpBuilder &nested, Location, Value block, ValueRange) {
                       Value sample = addIndex(nested, loc, block, sampleLane);
                       Value last = addIndex(nested, loc, numSamples, -1);
                       body(nested, {minIndex(nested, loc, sample, last)},
                            isBelow(nested, loc, sample, numSamples));
                       scf::YieldOp::create(nested, loc);
                     });
}

Value WarpRow::foldSamples(
    OpBuilder &builder, Value value,
    function_ref<Value(OpBuilder &, const SampleBlock &, Value)> body) const {
  auto loop =
      scf::ForOp::create(builder, loc, sampleLane, numSamples, numSampleLanes, value,
                         [&](OpBuilder &nested, Location, Value sample, ValueRange running) {
                           scf::YieldOp::create(nested, loc, body(nested, {sample}, running[0]));
                         });
  return loop.getResult(0);
}

Value WarpRow::addParts(OpBuilder &builder, Value value) const {
  for (int64_t offset = kWarpThreads / 2; offset > 0; offset /= 2) {
    Value other = emitButterfly(builder, loc, value, offset);
    Value sum = arith::AddFOp::create(builder, loc, value, other);
    // Lanes at a smaller distance have other samples.
    Value isPart = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, numSampleLanes,
                                         getIndex(builder, loc, offset));
    value = arith::SelectOp::create(builder, loc, isPart, sum, value);
  }
  return value;
}

Value WarpRow::addLanes(OpBuilder &builder, Value value) const {
  for (int64_t offset = kWarpThreads / 2; offset > 0; offset /= 2)
    value = arith::AddFOp::create(builder, loc, value, emitButterfly(builder, loc, value, offset));
  return value;
}

Value WarpRow::isFirstPart(OpBuilder &builder) const {
  return isEqual(builder, loc, part, getIndex(builder, loc, 0));
}

Value WarpRow::isFirstLane(OpBuilder &builder) const {
  Value isFirstSample = isEqual(builder, loc, sampleLane, getIndex(builder, loc, 0));
  return arith::AndIOp::create(builder, loc, isFirstPart(builder), isFirstSample);
}

static Value countLaneBits(OpBuilder &builder, Location loc, Value numSamples) {
  Value bits = getIndex(builder, loc, 0);
  for (int64_t bit = 0; int64_t(1) << bit < kWarpThreads; ++bit) {
    Value isMore = isBelow(builder, loc, getIndex(builder, loc, int64_t(1) << bit), numSamples);
    bits = arith::SelectOp::create(builder, loc, isMore, getIndex(builder, loc, bit + 1), bits);
  }
  return bits;
}

void bppsa::emitWarpRows(OpBuilder &builder, Location loc, int64_t numRows, Value numSamples,
                         function_ref<void(OpBuilder &, const WarpRow &)> body) {
  if (numRows == 0)
    return;
  if (!numSamples)
    numSamples = getIndex(builder, loc, 1);
  // A division by an unknown divisor is a call, around which registers are spilled.
  Value bits = countLaneBits(builder, loc, numSamples);
  Value numBlocks = getIndex(builder, loc, (numRows + kWarps - 1) / kWarps);
  emitLaunch(builder, loc, numBlocks, kWarps * kWarpThreads, {},
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               Value warpThreads = getIndex(nested, loc, kWarpThreads);
               Value warp = arith::DivUIOp::create(nested, loc, thread.thread, warpThreads);
               Value lane = arith::RemUIOp::create(nested, loc, thread.thread, warpThreads);
               Value first = mulIndex(nested, loc, thread.block, getIndex(nested, loc, kWarps));
               Value row = addIndex(nested, loc, first, warp);
               emitIf(nested, loc, isBelow(nested, loc, row, getIndex(nested, loc, numRows)),
                      [&](OpBuilder &inRow) {
                        Value lanes =
                            arith::ShLIOp::create(inRow, loc, getIndex(inRow, loc, 1), bits);
                        Value mask = addIndex(inRow, loc, lanes, -1);
                        body(inRow, {loc, row, numSamples, lanes,
                                     arith::AndIOp::create(inRow, loc, lane, mask),
                                     arith::ShRUIOp::create(inRow, loc, warpThreads, bits),
                                     arith::ShRUIOp::create(inRow, loc, lane, bits)});
                      });
             });
}

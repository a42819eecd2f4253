//===- SparseLoops.cpp - loops of sparse products -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SparseLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

SmallVector<SampleRange> bppsa::splitSamples(OpBuilder &builder, Location loc, Value numSamples) {
  SmallVector<SampleRange> ranges;
  Value first = getIndex(builder, loc, 0);
  for (int64_t width : {16, 4, 1}) {
    Value rest = arith::SubIOp::create(builder, loc, numSamples, first);
    Value size = getIndex(builder, loc, width);
    Value covered =
        arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, rest, size), size);
    Value last = arith::AddIOp::create(builder, loc, first, covered);
    ranges.push_back({first, last, width});
    first = last;
  }
  return ranges;
}

void bppsa::emitSampleBlocks(OpBuilder &builder, Location loc, Value numSamples,
                             function_ref<void(OpBuilder &, const SampleBlock &)> body) {
  if (!numSamples)
    return body(builder, {});
  for (const SampleRange &range : splitSamples(builder, loc, numSamples))
    emitFor(builder, loc, range.first, range.last, range.width,
            [&](OpBuilder &nested, Value sample) { body(nested, {sample, range.width}); });
}

void bppsa::emitRowTasks(OpBuilder &builder, Location loc, int64_t rows, int64_t maxTasks,
                         function_ref<void(OpBuilder &, Value, Value)> emitTask) {
  if (rows == 0)
    return;
  int64_t taskRows = (rows + maxTasks - 1) / maxTasks;
  int64_t numTasks = (rows + taskRows - 1) / taskRows;
  emitParallel(builder, loc, getIndex(builder, loc, numTasks), [&](OpBuilder &nested, Value task) {
    Value size = getIndex(nested, loc, taskRows);
    Value first = arith::MulIOp::create(nested, loc, task, size);
    Value last = arith::MinUIOp::create(
        nested, loc, arith::AddIOp::create(nested, loc, first, size), getIndex(nested, loc, rows));
    emitTask(nested, first, last);
  });
}

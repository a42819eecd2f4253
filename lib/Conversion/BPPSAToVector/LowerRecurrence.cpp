//===- LowerRecurrence.cpp - recurrences as loops over vectors ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToVector.h"
#include "SampleTasks.h"
#include "TimeOrder.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"

using namespace mlir;
using namespace bppsa;

/// Prefetch distance of outputs, in steps.
static constexpr int64_t kWrittenStepsAhead = 2;

namespace {
class RecurrenceLowering {
public:
  RecurrenceLowering(RecurrenceOp op, LaneEmitter emitter)
      : op(op), emitter(std::move(emitter)), loc(op.getLoc()), order(op, op.getReverse()) {}

  void lower() {
    OpBuilder builder(op);
    numBlocks = getDim(builder, loc, op.getSequences()[0], 0);
    numSteps = getDim(builder, loc, op.getSequences()[0], 1);
    if (op.getInitial().empty())
      lowerIndependentSteps(builder);
    else
      emitSampleTasks(builder, op, numBlocks, emitter.getMaxSamples(getMaxTaskSamples(op)),
                      [&](OpBuilder &nested, Value block, int64_t samples) {
                        emitter.setSamples(samples);
                        lowerBlock(nested, block);
                      });
  }

private:
  /// If lanes hold units, independent steps are computed together like samples, then the remainder
  /// one by one.
  void lowerIndependentSteps(OpBuilder &builder) {
    int64_t most = emitter.getMaxSamples(getMaxTaskSamples(op));
    Value size = getIndex(builder, loc, kStepsPerTask);
    Value numTasks = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
    emitParallel(builder, loc, numBlocks, numTasks,
                 [&](OpBuilder &nested, Value block, Value task) {
                   Value first = arith::MulIOp::create(nested, loc, task, size);
                   Value last = arith::AddIOp::create(nested, loc, first, size);
                   last = arith::MinUIOp::create(nested, loc, last, numSteps);
                   if (most > 1)
                     first = emitIndependentSteps(nested, block, first, last, most);
                   emitIndependentSteps(nested, block, first, last, 1);
                 });
  }

  Value emitIndependentSteps(OpBuilder &builder, Value block, Value first, Value last,
                             int64_t together) {
    emitter.setSamples(together);
    emitter.allocateScratch(builder, loc);
    Value end = last;
    if (together > 1) {
      Value left = arith::SubIOp::create(builder, loc, last, first);
      Value rest = arith::RemUIOp::create(builder, loc, left, getIndex(builder, loc, together));
      end = arith::SubIOp::create(builder, loc, last, rest);
    }
    emitFor(builder, loc, first, end, together, [&](OpBuilder &nested, Value step) {
      emitStep(nested, block, step, Value(), Value());
    });
    return end;
  }

  void lowerBlock(OpBuilder &builder, Value block) {
    emitter.allocateScratch(builder, loc);
    Value start = order.getFirst(builder, loc, addIndex(builder, loc, numSteps, 1));
    emitForSamples(builder, loc, emitter.getSamples(), [&](OpBuilder &nested, Value sample) {
      for (auto [initial, trajectory] : llvm::zip(op.getInitial(), op.getDestinations()))
        emitCopy(nested, loc, Rows{initial, {block}}.ofSample(nested, loc, sample),
                 Rows{trajectory, {block, start}}.ofSample(nested, loc, sample),
                 cast<MemRefType>(initial.getType()).getDimSize(1));
    });
    Value zero = getIndex(builder, loc, 0);
    order.emitFor(builder, loc, zero, numSteps, [&](OpBuilder &nested, Value step) {
      emitStep(nested, block, step, order.shift(nested, loc, step, 0, 1),
               order.shift(nested, loc, step, 1, 0));
    });
  }

  /// Runs from trajectory slot `before` to `after` and reads states from trajectories.
  void emitStep(OpBuilder &builder, Value block, Value step, Value before, Value after) {
    size_t numStates = op.getInitial().size();
    SmallVector<Rows> arguments, results;
    auto getRows = [&](Value sequence) {
      Rows rows = {sequence, {block, step}};
      rows.sampleDim = numStates ? 0 : 1;
      return rows;
    };
    for (Value sequence : op.getSequences())
      arguments.push_back(getRows(sequence));
    for (Value trajectory : op.getDestinations().take_front(numStates)) {
      arguments.push_back({trajectory, {block, before}});
      results.push_back({trajectory, {block, after}});
    }
    for (Value output : op.getDestinations().drop_front(numStates))
      results.push_back(getRows(output));
    emitter.emitStep(builder, loc, arguments, results, getLaterRows(builder, block, step));
  }

  LaterRows getLaterRows(OpBuilder &builder, Value block, Value step) {
    LaterRows later;
    if (op.getInitial().empty() || *op.getLanes() == 1)
      return later;
    Value laterStep = order.getLaterStep(builder, loc, step, kWrittenStepsAhead, numSteps);
    for (Value array : op.getDestinations())
      later.results.push_back({array, {block, laterStep}});
    return later;
  }

  RecurrenceOp op;
  LaneEmitter emitter;
  Location loc;
  TimeOrder order;
  Value numBlocks, numSteps;
};
} // namespace

LogicalResult bppsa::lowerRecurrence(RecurrenceOp op, const LaneOptions &options) {
  Block &body = op.getBody().front();
  fuseProductSums(body);
  FailureOr<LaneEmitter> emitter = LaneEmitter::create(body, op.getCaptures(), options);
  if (failed(emitter))
    return failure();
  RecurrenceLowering(op, std::move(*emitter)).lower();
  return success();
}

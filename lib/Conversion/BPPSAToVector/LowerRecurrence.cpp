//===- LowerRecurrence.cpp - recurrences as loops over vectors ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToVector.h"
#include "SampleTasks.h"
#include "TimeOrder.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"

using namespace mlir;
using namespace bppsa;

/// Steps that one thread takes at a time where steps are independent.
static constexpr int64_t kStepsPerTask = 32;

/// How many steps ahead of a loop with states what it writes is fetched.
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
      emitSampleTasks(builder, op, numBlocks, emitter.getMostSamples(getMostTaskSamples(op)),
                      [&](OpBuilder &nested, Value block, int64_t samples) {
                        emitter.setSamples(samples);
                        lowerBlock(nested, block);
                      });
  }

private:
  void lowerIndependentSteps(OpBuilder &builder) {
    Value size = getIndex(builder, loc, kStepsPerTask);
    Value numTasks = arith::CeilDivUIOp::create(builder, loc, numSteps, size);
    emitParallel(builder, loc, numBlocks, numTasks,
                 [&](OpBuilder &nested, Value block, Value task) {
                   emitter.allocateScratch(nested, loc);
                   Value first = arith::MulIOp::create(nested, loc, task, size);
                   Value last = arith::AddIOp::create(nested, loc, first, size);
                   last = arith::MinUIOp::create(nested, loc, last, numSteps);
                   emitFor(nested, loc, first, last, 1, [&](OpBuilder &inner, Value step) {
                     emitStep(inner, block, step, Value(), Value());
                   });
                 });
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

  /// Emits step `step`, from trajectory slot `before` to slot `after`: states
  /// are read where the last step wrote them.
  void emitStep(OpBuilder &builder, Value block, Value step, Value before, Value after) {
    size_t numStates = op.getInitial().size();
    SmallVector<Rows> arguments, results;
    for (Value sequence : op.getSequences())
      arguments.push_back({sequence, {block, step}});
    for (Value trajectory : op.getDestinations().take_front(numStates)) {
      arguments.push_back({trajectory, {block, before}});
      results.push_back({trajectory, {block, after}});
    }
    for (Value output : op.getDestinations().drop_front(numStates))
      results.push_back({output, {block, step}});
    emitter.emitStep(builder, loc, arguments, results, getLaterRows(builder, block, step));
  }

  /// What a cell with states writes some steps later.
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

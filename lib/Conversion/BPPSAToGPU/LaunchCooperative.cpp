//===- LaunchCooperative.cpp - recurrences and chains whose rows blocks share ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../BPPSAToBGPU/TimeLoops/Recurrence.h"
#include "../GPULaunches/LinkSteps.h"
#include "BPPSAToGPU.h"
#include "TimeLoops/CooperativeLoop.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

namespace {
class RecurrenceGrid {
public:
  explicit RecurrenceGrid(RecurrenceOp op)
      : op(op), loc(op.getLoc()), builder(op), numSequences(op.getSequences().size()),
        numStates(op.getInitial().size()) {}

  LogicalResult launch(GPUMappingAttr mapping) {
    FailureOr<CooperativeLoop> cooperative = CooperativeLoop::create(
        {op, &op.getBody().front(), op.getCaptures().size(), numSequences, numStates, {}, {}},
        op.getCaptures(), mapping);
    if (failed(cooperative))
      return failure();
    cooperative->launch(builder, describe());
    return success();
  }

private:
  GridLoop describe() {
    GridLoop loop;
    loop.op = op;
    loop.numSteps = getDim(builder, loc, op.getSequences()[0], 0);
    loop.numSamples = getDim(builder, loc, op.getSequences()[0], 1);
    Value numSteps = loop.numSteps;
    loop.getSource = [this, numSteps](OpBuilder &nested, unsigned argument, Value position,
                                      Value sample) {
      return Place{op.getSequences()[argument],
                   {getRecurrenceStep(nested, op, numSteps, position), sample}};
    };
    loop.getTargets = [this, numSteps](OpBuilder &nested, unsigned result, Value position,
                                       Value sample) -> GridLoop::Places {
      Value step = getRecurrenceStep(nested, op, numSteps, position);
      if (result < numStates && !op.getReverse())
        step = addIndex(nested, loc, position, 1);
      return {Place{op.getDestinations()[result], {step, sample}}};
    };
    loop.getStart = [this](OpBuilder &, unsigned state, Value sample) {
      return Place{op.getInitial()[state], {sample}};
    };
    loop.getStartCopies = [this, numSteps](OpBuilder &nested, unsigned state,
                                           Value sample) -> GridLoop::Places {
      Value start = op.getReverse() ? numSteps : getIndex(nested, loc, 0);
      return {Place{op.getDestinations()[state], {start, sample}}};
    };
    loop.getEnds = [](OpBuilder &, unsigned, Value) { return GridLoop::Places(); };
    return loop;
  }

  RecurrenceOp op;
  Location loc;
  OpBuilder builder;
  unsigned numSequences, numStates;
};
} // namespace

LogicalResult bppsa::launchCooperatively(RecurrenceOp op, GPUMappingAttr mapping) {
  return RecurrenceGrid(op).launch(mapping);
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

static GridLoop describe(OpBuilder &builder, const CotangentLoop &loop) {
  unsigned numSaved = loop.saved.size(), numStates = loop.seeds.size();
  GridLoop grid;
  grid.op = loop.op;
  grid.numSteps = countSteps(builder, loop);
  grid.numSamples = countSamples(builder, loop);
  grid.getSource = [=](OpBuilder &nested, unsigned argument, Value position, Value sample) {
    Value source =
        argument < numSaved ? loop.saved[argument] : loop.injected[argument - numSaved - numStates];
    return Place{source, {getStep(nested, loop, position), sample}};
  };
  grid.getTargets = [=](OpBuilder &nested, unsigned result, Value position,
                        Value sample) -> GridLoop::Places {
    if (result < numStates)
      return {};
    return {Place{loop.destinations[result], {getStep(nested, loop, position), sample}}};
  };
  grid.getStart = [=](OpBuilder &, unsigned state, Value sample) {
    return Place{loop.seeds[state], {sample}};
  };
  grid.getStartCopies = [](OpBuilder &, unsigned, Value) { return GridLoop::Places(); };
  grid.getEnds = [=](OpBuilder &, unsigned state, Value sample) -> GridLoop::Places {
    return {Place{loop.destinations[state], {sample}}};
  };
  return grid;
}

LogicalResult bppsa::launchCooperatively(const CotangentLoop &loop, GPUMappingAttr mapping) {
  std::unique_ptr<Region> link = cloneLink(loop, {});
  FailureOr<CooperativeLoop> cooperative =
      CooperativeLoop::create(getLoopBody(loop, link->front(), {}), loop.captures, mapping);
  if (failed(cooperative))
    return failure();
  OpBuilder builder(loop.op);
  cooperative->launch(builder, describe(builder, loop));
  return success();
}

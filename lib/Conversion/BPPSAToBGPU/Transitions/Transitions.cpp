//===- Transitions.cpp - transitions of runs of links ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One kernel computes all transitions of a parallel loop, whose runs are windows of the same
// sequences.
//
//===----------------------------------------------------------------------===//

#include "Transitions.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../../../Codegen/GPU/ParallelLoops.h"
#include "TransitionLoops.h"

using namespace mlir;
using namespace bppsa;

namespace {
class TransitionSweep {
public:
  TransitionSweep(scf::ForallOp parallel, TransitionOp op)
      : parallel(parallel), op(op), window(op) {}
  // `getLoop` returns references to vectors of this object.
  TransitionSweep(const TransitionSweep &) = delete;

  /// Transitions must be of all rows of the same sequences.
  LogicalResult findWindows();
  LogicalResult convert();

private:
  CotangentLoop getLoop() const;
  TransitionLoops::Run getRun(OpBuilder &builder, Value iteration);

  scf::ForallOp parallel;
  TransitionOp op;
  StepWindow window;
  SmallVector<Value> saved, injected;
  ArrayPart result;
};
} // namespace

LogicalResult TransitionSweep::findWindows() {
  if (failed(window.add(op.getSaved(), saved)) || failed(window.add(op.getInjected(), injected)))
    return failure();
  FailureOr<ArrayPart> part = getArrayPart(op, op.getDestination());
  if (failed(part))
    return failure();
  result = *part;
  if (!isConstantIntValue(window.getFirstRow(), 0) || !isConstantIntValue(result.firstRow, 0))
    return op->emitOpError("takes some rows only in an iteration of a parallel loop; run "
                           "bppsa-expand-scan with whole-levels");
  return success();
}

CotangentLoop TransitionSweep::getLoop() const {
  CotangentLoop loop = getCotangentLoop(op);
  loop.saved = saved;
  loop.injected = injected;
  return loop;
}

TransitionLoops::Run TransitionSweep::getRun(OpBuilder &builder, Value iteration) {
  IterationValues values(builder, parallel, iteration);
  auto [first, last] = window.getPositions(builder, getLoop(), values);
  return {first, last, values.get(builder, result.firstSlot)};
}

LogicalResult TransitionSweep::convert() {
  FailureOr<TransitionLoops> transitions = TransitionLoops::create(getLoop(), getMapping(op));
  if (failed(transitions))
    return failure();
  OpBuilder builder(parallel);
  DeviceMaps maps = {AffineMapLayout::get(getLoop()), result.array};
  transitions->emitKernels(builder, maps, countIterations(builder, parallel)[0],
                           [&](OpBuilder &nested, Value run) { return getRun(nested, run); });
  return success();
}

LogicalResult bppsa::convertTransitions(scf::ForallOp loop) {
  return convertOnlyOps<TransitionOp, TransitionSweep>(loop);
}

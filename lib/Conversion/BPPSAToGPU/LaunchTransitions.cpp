//===- LaunchTransitions.cpp - transitions of runs of links ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The iterations of a parallel loop make the transitions of runs of links, which are
// windows of the same sequences: all of them are run by one launch.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "TimeLoops/AffineMaps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// The part of an array that has all rows of some steps or of one slot.
struct Window {
  Value array;
  OpFoldResult first, count;
};

class TransitionLaunch {
public:
  TransitionLaunch(scf::ForallOp parallel, TransitionOp op) : parallel(parallel), op(op) {}
  // The loops refer to the sequences that are kept here.
  TransitionLaunch(const TransitionLaunch &) = delete;

  /// Fails after a diagnostic where the transitions are not of runs of the same sequences.
  LogicalResult findWindows();
  LogicalResult launch();

private:
  /// The loop over the whole sequences.
  CotangentLoop getLoop() const;
  /// The run of iteration number `iteration`.
  TransitionLoops::Run getRun(OpBuilder &builder, Value iteration);

  scf::ForallOp parallel;
  TransitionOp op;
  /// Those of each sequence have the same steps.
  SmallVector<Value> saved, injected;
  OpFoldResult firstStep, numSteps;
  Window result;
};
} // namespace

/// What `view` is of its array; fails after a diagnostic where it is no such part.
static FailureOr<Window> getWindow(TransitionOp op, Value view) {
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  auto isZero = [](OpFoldResult offset) { return isConstantIntValue(offset, 0); };
  auto isOne = [](OpFoldResult stride) { return isConstantIntValue(stride, 1); };
  if (!subview || !llvm::all_of(ArrayRef(subview.getMixedOffsets()).drop_front(), isZero) ||
      !llvm::all_of(subview.getMixedStrides(), isOne))
    return op->emitOpError("reads or writes an array that is no window of all rows; run "
                           "bppsa-expand-scan with whole-levels");
  return Window{subview.getSource(), subview.getMixedOffsets()[0], subview.getMixedSizes()[0]};
}

LogicalResult TransitionLaunch::findWindows() {
  for (auto [views, arrays] :
       {std::pair(op.getSaved(), &saved), std::pair(op.getInjected(), &injected)})
    for (Value view : views) {
      FailureOr<Window> window = getWindow(op, view);
      if (failed(window))
        return failure();
      if (firstStep && (firstStep != window->first || numSteps != window->count))
        return op->emitOpError("reads different steps of two sequences; run bppsa-expand-scan "
                               "with whole-levels");
      firstStep = window->first;
      numSteps = window->count;
      arrays->push_back(window->array);
    }
  FailureOr<Window> window = getWindow(op, op.getDestination());
  if (succeeded(window))
    result = *window;
  return window;
}

CotangentLoop TransitionLaunch::getLoop() const {
  CotangentLoop loop = getCotangentLoop(op);
  loop.saved = saved;
  loop.injected = injected;
  return loop;
}

TransitionLoops::Run TransitionLaunch::getRun(OpBuilder &builder, Value iteration) {
  Location loc = op.getLoc();
  IRMapping mapping;
  Value lower = getValueOrCreateConstantIndexOp(builder, loc, parallel.getMixedLowerBound()[0]);
  mapping.map(parallel.getInductionVar(0), addIndex(builder, loc, iteration, lower));
  for (Operation &index : parallel.getBody()->without_terminator())
    if (index.getDialect()->getNamespace() == arith::ArithDialect::getDialectNamespace())
      builder.clone(index, mapping);
  auto get = [&](OpFoldResult value) {
    if (auto known = dyn_cast<Value>(value))
      return mapping.lookupOrDefault(known);
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  Value first = get(firstStep), count = get(numSteps);
  if (!op.getReverse()) {
    // Positions count from the last step on.
    Value end = addIndex(builder, loc, first, count);
    first = arith::SubIOp::create(builder, loc, countSteps(builder, getLoop()), end);
  }
  // That it does not wrap is how LLVM knows of runs of one step.
  Value last = arith::AddIOp::create(builder, loc, first, count, arith::IntegerOverflowFlags::nsw);
  return {first, last, get(result.first)};
}

LogicalResult TransitionLaunch::launch() {
  FailureOr<TransitionLoops> transitions = TransitionLoops::create(getLoop(), getMapping(op));
  if (failed(transitions))
    return failure();
  OpBuilder builder(parallel);
  Location loc = op.getLoc();
  Value lower = getValueOrCreateConstantIndexOp(builder, loc, parallel.getMixedLowerBound()[0]);
  Value upper = getValueOrCreateConstantIndexOp(builder, loc, parallel.getMixedUpperBound()[0]);
  DeviceMaps maps = {AffineMapLayout::get(getLoop()), result.array};
  transitions->launch(builder, maps, builder.createOrFold<arith::SubIOp>(loc, upper, lower),
                      [&](OpBuilder &nested, Value run) { return getRun(nested, run); });
  return success();
}

LogicalResult bppsa::launchTransitions(scf::ForallOp loop) {
  auto ops = loop.getBody()->getOps<TransitionOp>();
  if (!llvm::hasSingleElement(ops) || loop.getRank() != 1)
    return loop->emitOpError("takes more than one transition in an iteration; run "
                             "bppsa-expand-scan with whole-levels");
  TransitionLaunch launch(loop, *ops.begin());
  if (failed(launch.findWindows()))
    return failure();
  return launch.launch();
}

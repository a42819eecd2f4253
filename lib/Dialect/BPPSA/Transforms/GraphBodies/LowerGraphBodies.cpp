//===- LowerGraphBodies.cpp - lowers loops in graph form to scf.for -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BodyRewrites.h"
#include "LoopLowering.h"
#include "SegmentedLoops.h"
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Threading.h"

namespace bppsa {
#define GEN_PASS_DEF_LOWERGRAPHBODIES
#include "bppsa/Dialect/BPPSA/Transforms/GraphBodies/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Loops in `plans` keep at most `limit` bytes of residuals in total.
static LogicalResult lowerLoops(func::FuncOp function, ArrayRef<SegmentPlan> plans, int64_t limit,
                                bool rowBlocks) {
  MemoryShare share{/*totalStepBytes=*/0, limit};
  SmallVector<SegmentedLoops, 1> segmented;
  DenseMap<Operation *, unsigned> forward, backward;
  for (const SegmentPlan &plan : plans) {
    forward[plan.forward] = backward[plan.backward] = segmented.size();
    share.totalStepBytes += plan.stepBytes;
    segmented.emplace_back(plan);
  }
  SteadyStates steady(function, [&](RecurrenceOp loop) { return !forward.contains(loop); });
  // Inner loops are lowered first and become part of the outer graph.
  SmallVector<Operation *> loops;
  function.walk([&](Operation *op) {
    auto recurrence = dyn_cast<RecurrenceOp>(op);
    auto chain = dyn_cast<ChainOp>(op);
    if ((recurrence && recurrence.isGraphForm()) || (chain && chain.isGraphForm()))
      loops.push_back(op);
  });
  for (Operation *op : loops) {
    if (failed(generalizeBody(op->getRegion(0).front())))
      return failure();
    if (auto found = forward.find(op); found != forward.end())
      segmented[found->second].lowerForward(share, steady);
    else if (auto found = backward.find(op); found != backward.end())
      segmented[found->second].lowerBackward(steady);
    else if (auto loop = dyn_cast<RecurrenceOp>(op))
      LoopLowering(loop, steady, rowBlocks).lower(loop);
    else
      LoopLowering(cast<ChainOp>(op), steady, rowBlocks).lower(cast<ChainOp>(op));
  }
  return success();
}

namespace {
struct LowerGraphBodies : public bppsa::impl::LowerGraphBodiesBase<LowerGraphBodies> {
  using LowerGraphBodiesBase::LowerGraphBodiesBase;

  void runOnOperation() override {
    SmallVector<std::pair<func::FuncOp, SmallVector<SegmentPlan>>> functions;
    bool hasSegments = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      functions.push_back({function, {}});
      if (memoryLimit > 0)
        functions.back().second = planSegments(function);
      hasSegments |= !functions.back().second.empty();
    }
    Type index = IndexType::get(&getContext());
    if (hasSegments)
      declareRuntimeFunction(getOperation(), kSegmentSteps, SmallVector<Type>(6, index), index);
    auto lower = [&](auto &item) {
      return lowerLoops(item.first, item.second, memoryLimit, rowBlocks);
    };
    if (failed(failableParallelForEach(&getContext(), functions, lower)))
      signalPassFailure();
  }
};
} // namespace

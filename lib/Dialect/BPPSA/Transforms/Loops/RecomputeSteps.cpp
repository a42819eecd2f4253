//===- RecomputeSteps.cpp - recomputes segments of steps ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecomputedLoops.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_RECOMPUTESTEPS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static SmallPtrSet<Value, 8> findPackedBySegments(ArrayRef<RecomputePlan> plans) {
  SmallPtrSet<Operation *, 16> members;
  for (const RecomputePlan &plan : plans) {
    members.insert(plan.forward);
    members.insert(plan.backward);
    members.insert_range(plan.sums);
    members.insert_range(plan.readers);
  }
  SmallPtrSet<Value, 8> packed;
  for (Operation *member : members)
    for (Value operand : member->getOperands()) {
      auto pack = operand.getDefiningOp<PackLanesOp>();
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (pack && type && type.getRank() == 4 &&
          llvm::all_of(operand.getUsers(), [&](Operation *user) { return members.contains(user); }))
        packed.insert(operand);
    }
  return packed;
}

static void emitRemark(RecomputePlan plan, StringRef function) {
  auto options = remark::RemarkOpts::name("RecomputeSteps").category("memory").function(function);
  remark::passed(plan.backward.getLoc(), options) << remark::add(
      "{0} bytes of a step of a sample are kept for one segment of steps, {1} of its "
      "states between segments; {2} sums and {3} loops go with the chain",
      plan.stepBytes, plan.stateBytes, plan.sums.size(), plan.readers.size());
}

namespace {
struct RecomputeSteps : public bppsa::impl::RecomputeStepsBase<RecomputeSteps> {
  using RecomputeStepsBase::RecomputeStepsBase;

  void runOnOperation() override {
    if (memoryLimit <= 0)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<std::vector<RecomputePlan>> plans = planRecomputation(function);
      if (failed(plans))
        return signalPassFailure();
      recompute(function, *plans);
    }
  }

private:
  void recompute(func::FuncOp function, ArrayRef<RecomputePlan> plans) {
    RecomputeContext context;
    context.limit = memoryLimit;
    context.packedBySegments = findPackedBySegments(plans);
    for (const RecomputePlan &plan : plans)
      context.totalStepBytes += plan.stepBytes;
    for (const RecomputePlan &plan : plans) {
      emitRemark(plan, function.getSymName());
      RecomputedLoops(plan, context).lower();
    }
  }
};
} // namespace

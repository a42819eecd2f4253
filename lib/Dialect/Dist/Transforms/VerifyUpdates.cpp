//===- VerifyUpdates.cpp - checks for reads after updates -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ArrayUses.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"

namespace bppsa {
#define GEN_PASS_DEF_VERIFYUPDATES
#include "bppsa/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Returns the operation at which a step waits for the next one, or null.
static Operation *findPause(Block &block) {
  for (auto mark : block.getOps<MarkPhaseOp>())
    if (mark.getPhase() == 2)
      return mark;
  return nullptr;
}

static LogicalResult verifyUnused(BlockArgument array, Operation *pause, const Twine &what) {
  std::optional<ArrayUses> uses = findUses(array);
  if (uses && (!uses->last || uses->last->isBeforeInBlock(pause)))
    return success();
  Operation *op = uses ? uses->last : pause;
  return op->emitOpError() << what;
}

/// Parameters whose gradients are final before the pause are updated at the pause, so nothing may
/// read them later.
static LogicalResult verifyParameters(func::FuncOp function, Operation *pause) {
  auto parameters = findArguments<attrs::Parameter>(function);
  for (auto signal : function.front().getOps<dist::SignalGradientOp>()) {
    auto gradient = cast<BlockArgument>(signal.getGradient());
    StringAttr name = attrs::Gradient::ofArgument(function, gradient.getArgNumber());
    if (!signal->isBeforeInBlock(pause))
      continue;
    if (failed(verifyUnused(parameters.lookup(name), pause,
                            "uses parameter " + Twine(name.getValue()) +
                                " after its update; form that gradient in the next step, too, or "
                                "this one in the same step")))
      return failure();
  }
  return success();
}

/// Losses and statistics are read at the pause.
static LogicalResult verifyResults(func::FuncOp function, Operation *pause) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!attrs::Loss::ofArgument(function, number) && !attrs::Updated::ofArgument(function, number))
      continue;
    if (failed(verifyUnused(argument, pause,
                            "computes a loss or a statistic after the end of the step; move it "
                            "before 'bppsa.mark_phase 2'")))
      return failure();
  }
  return success();
}

namespace {
struct VerifyUpdates : public bppsa::impl::VerifyUpdatesBase<VerifyUpdates> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()) ||
        function.front().getOps<dist::SignalGradientOp>().empty())
      return markAllAnalysesPreserved();
    Operation *pause = findPause(function.front());
    if (pause &&
        (failed(verifyParameters(function, pause)) || failed(verifyResults(function, pause))))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

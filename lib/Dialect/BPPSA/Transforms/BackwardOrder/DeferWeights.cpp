//===- DeferWeights.cpp - defers parameter gradients ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A pipeline stage can compute parameter gradients while it would otherwise wait (Qi et al.: "Zero
// Bubble Pipeline Parallelism", ICLR 2024).
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/StatisticUpdates.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {
#define GEN_PASS_DEF_DEFERWEIGHTS
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Also moves updates of running statistics to the end.
static void deferWeights(func::FuncOp function) {
  Block &block = function.front();
  Operation *returned = block.getTerminator();
  SetVector<Operation *> statistics = findStatisticUpdates(function), deferred;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto part = attrs::BackwardPart::of(&op);
    bool isNeededEarlier = llvm::any_of(op.getUsers(), [&](Operation *user) {
      user = block.findAncestorOpInBlock(*user);
      return user != returned && !deferred.contains(user);
    });
    bool isWeight = part && part.getRole() == BackwardRole::Parameter && !isNeededEarlier;
    if (isWeight || statistics.contains(&op))
      deferred.insert(&op);
  }
  OpBuilder builder(returned);
  MarkPhaseOp::create(builder, returned->getLoc(), 2);
  for (Operation *op : llvm::reverse(deferred))
    op->moveBefore(returned);
}

namespace {
struct DeferWeights : public bppsa::impl::DeferWeightsBase<DeferWeights> {
  using DeferWeightsBase::DeferWeightsBase;

  void runOnOperation() override {
    auto isStage = [](EntryAttr entry) { return entry.getStage().has_value(); };
    for (func::FuncOp function : findEntries(getOperation(), isStage)) {
      if (!function.getBody().hasOneBlock()) {
        function.emitError() << "bppsa-defer-weights: needs stages of one block, found "
                             << function.getBody().getBlocks().size() << " blocks";
        return signalPassFailure();
      }
      deferWeights(function);
    }
    getOperation().walk([](Operation *op) { attrs::BackwardPart::remove(op); });
  }
};
} // namespace

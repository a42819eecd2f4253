//===- SignalGradients.cpp - signals gradients, awaits parameters ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ArrayUses.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {
#define GEN_PASS_DEF_SIGNALGRADIENTS
#include "bppsa/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static void signal(BlockArgument parameter, BlockArgument gradient) {
  Block &block = *parameter.getOwner();
  Operation *first = &block.front(), *last = block.getTerminator()->getPrevNode();
  std::optional<ArrayUses> read = findUses(parameter), written = findUses(gradient);
  if (read && written) {
    ArrayUses all = *written;
    for (Operation *op : {read->first, read->last})
      if (op)
        all.add(op);
    if (all.first)
      first = all.first;
    if (written->last)
      last = written->last;
  }
  Location loc = gradient.getLoc();
  OpBuilder builder(first);
  dist::AwaitParameterOp::create(builder, parameter.getLoc(), parameter);
  if (last)
    builder.setInsertionPointAfter(last);
  dist::SignalGradientOp::create(builder, loc, gradient);
}

namespace {
struct SignalGradients : public bppsa::impl::SignalGradientsBase<SignalGradients> {
  using SignalGradientsBase::SignalGradientsBase;

  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> steps = requireEntries(getOperation(), EntryRole::Step);
    if (failed(steps))
      return signalPassFailure();
    for (func::FuncOp function : *steps) {
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitError() << "bppsa-signal-gradients: needs a training step of one block, found "
                             << function.getBody().getBlocks().size() << " blocks";
        return signalPassFailure();
      }
      auto parameters = findArguments<attrs::Parameter>(function);
      for (BlockArgument gradient : function.getArguments())
        if (StringAttr of = attrs::Gradient::ofArgument(function, gradient.getArgNumber()))
          if (BlockArgument parameter = parameters.lookup(of))
            signal(parameter, gradient);
    }
  }
};
} // namespace

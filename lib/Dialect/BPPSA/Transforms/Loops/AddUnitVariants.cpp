//===- AddUnitVariants.cpp - functions for small batches ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/HostCosts.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace bppsa {
#define GEN_PASS_DEF_ADDUNITVARIANTS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct AddUnitVariants : public bppsa::impl::AddUnitVariantsBase<AddUnitVariants> {
  using AddUnitVariantsBase::AddUnitVariantsBase;

  void runOnOperation() override {
    for (StringRef name : functions)
      if (auto function = getOperation().lookupSymbol<func::FuncOp>(name))
        copy(function);
    SmallVector<func::FuncOp> scanned;
    for (StringRef name : scans)
      if (auto function = getOperation().lookupSymbol<func::FuncOp>(name))
        scanned.push_back(function);
    // All of one backward pass or none.
    if (llvm::any_of(scanned, [&](func::FuncOp function) {
          return hasChunks(function) && (!hopeful || cost::mayChunksWin(getHostCosts(function)));
        }))
      llvm::for_each(scanned, copy);
  }

private:
  static bool hasChunks(func::FuncOp function) {
    auto visit = [](ChainOp chain) {
      return chain.getPlan().getAlgorithm() == ScanAlgorithm::Chunked ? WalkResult::interrupt()
                                                                      : WalkResult::advance();
    };
    return function.walk(visit).wasInterrupted();
  }

  static void copy(func::FuncOp function) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfter(function);
    auto made = cast<func::FuncOp>(builder.clone(*function));
    made.setSymName((function.getSymName() + "_units").str());
    attrs::Lanes::set(made, builder.getI64IntegerAttr(1));
  }
};
} // namespace

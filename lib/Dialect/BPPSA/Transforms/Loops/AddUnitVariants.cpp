//===- AddUnitVariants.cpp - functions for small batches ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

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
    OpBuilder builder(&getContext());
    for (StringRef name : functions) {
      auto function = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!function)
        continue;
      builder.setInsertionPointAfter(function);
      auto copy = cast<func::FuncOp>(builder.clone(*function));
      copy.setSymName((name + "_units").str());
      attrs::Lanes::set(copy, builder.getI64IntegerAttr(1));
    }
  }
};
} // namespace

//===- CopyVariant.cpp - copy the functions of a backward pass ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/IR/Builders.h"

namespace bppsa {
#define GEN_PASS_DEF_COPYVARIANT
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct CopyVariant : public bppsa::impl::CopyVariantBase<CopyVariant> {
  using CopyVariantBase::CopyVariantBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> originals =
        findEntries(module, [&](EntryAttr entry) { return entry.isOf(from); });
    bool isTaken = !findEntries(module, [&](EntryAttr entry) { return entry.isOf(to); }).empty();
    if (to.empty() || originals.empty() || isTaken) {
      module.emitError() << "needs functions of the variant '" << from
                         << "' to copy, and another variant that has no functions, found "
                         << originals.size() << " and '" << to << "'; change 'from' or 'to'";
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(originals.back());
    for (func::FuncOp original : originals) {
      auto copy = cast<func::FuncOp>(builder.clone(*original));
      setEntry(copy, attrs::Entry::of(original).withVariant(to));
    }
  }
};
} // namespace

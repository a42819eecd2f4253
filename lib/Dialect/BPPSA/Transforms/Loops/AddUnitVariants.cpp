//===- AddUnitVariants.cpp - functions for small batches ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/HostCosts.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
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
    auto isScan = [&](EntryAttr entry) { return entry.isOf("scan") && !entry.getStage(); };
    SmallVector<func::FuncOp> others = findEntries(getOperation(), [&](EntryAttr entry) {
      return entry.getRole() == EntryRole::Forward || (entry.getVariant() && !isScan(entry));
    });
    SmallVector<func::FuncOp> scans = findEntries(getOperation(), isScan);
    llvm::for_each(others, copy);
    // Functions of a backward pass are copied together.
    if (llvm::any_of(scans, [&](func::FuncOp function) {
          return hasChunks(function) &&
                 (!hopeful || cost::canChunkedScanWin(getHostCosts(function)));
        }))
      llvm::for_each(scans, copy);
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
    setEntry(made, attrs::Entry::of(function).withUnits());
    attrs::Lanes::set(made, builder.getI64IntegerAttr(1));
  }
};
} // namespace

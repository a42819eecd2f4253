//===- CopyFunctions.cpp - the same functions under other names -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace bppsa {
#define GEN_PASS_DEF_COPYFUNCTIONS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct CopyFunctions : public bppsa::impl::CopyFunctionsBase<CopyFunctions> {
  using CopyFunctionsBase::CopyFunctionsBase;

  void runOnOperation() override {
    if (functions.size() != names.size()) {
      getOperation().emitError() << "needs a name for each function to copy, found "
                                 << functions.size() << " functions and " << names.size()
                                 << " names";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    SmallVector<std::pair<func::FuncOp, StringRef>> found;
    func::FuncOp last;
    for (auto [function, name] : llvm::zip_equal(functions, names)) {
      auto original = symbols.lookup<func::FuncOp>(function);
      if (!original)
        continue;
      if (symbols.lookup(name)) {
        getOperation().emitError() << "@" << name << " exists already; choose another name";
        return signalPassFailure();
      }
      found.push_back({original, name});
      if (!last || last->isBeforeInBlock(original))
        last = original;
    }
    if (!last)
      return;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(last);
    for (auto [original, name] : found)
      cast<func::FuncOp>(builder.clone(*original)).setSymName(name);
  }
};
} // namespace

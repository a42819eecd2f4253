//===- VerifyExchanges.cpp - checks the order of exchanges ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Ranks exchange values in the same order if no exchange depends on inputs, parameters, or sizes,
// which differ between ranks.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Dialect/Dist/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {
#define GEN_PASS_DEF_VERIFYEXCHANGES
#include "bppsa/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isOfFixedOrder(Operation *op) {
  if (isa<memref::AllocaScopeOp>(op))
    return true;
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop &&
         llvm::all_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                      [](Value bound) { return getConstantIntValue(bound).has_value(); });
}

namespace {
struct VerifyExchanges : public bppsa::impl::VerifyExchangesBase<VerifyExchanges> {
  using VerifyExchangesBase::VerifyExchangesBase;

  void runOnOperation() override {
    findExchangingFunctions();
    bool isWrong = false;
    getOperation().walk([&](Operation *op) { isWrong |= isExchange(op) && failed(verify(op)); });
    if (isWrong)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  /// Includes functions that exchange values in a callee.
  void findExchangingFunctions() {
    exchanging.clear();
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (auto function : getOperation().getOps<func::FuncOp>()) {
        auto visit = [&](Operation *op) {
          return isExchange(op) ? WalkResult::interrupt() : WalkResult::advance();
        };
        if (function.walk(visit).wasInterrupted())
          isChanged |= exchanging.insert(function.getSymNameAttr()).second;
      }
    }
  }

  bool isExchange(Operation *op) const {
    auto call = dyn_cast<func::CallOp>(op);
    return op->hasTrait<dist::ExchangeTrait>() ||
           (call && exchanging.contains(call.getCalleeAttr().getAttr()));
  }

  static LogicalResult verify(Operation *op) {
    Operation *parent = op->getParentOp();
    for (; !isa<FunctionOpInterface>(parent); parent = parent->getParentOp())
      if (!isOfFixedOrder(parent))
        return emitOrderError(op, parent->getName().getStringRef(), parent->getLoc());
    if (!cast<FunctionOpInterface>(parent).getFunctionBody().hasOneBlock())
      return emitOrderError(op, "a function of several blocks", parent->getLoc());
    return success();
  }

  static LogicalResult emitOrderError(Operation *op, StringRef place, Location loc) {
    InFlightDiagnostic error =
        op->emitOpError() << "needs a place that every rank reaches equally often, found it in "
                          << place << "; move it out of control flow that depends on data or sizes";
    error.attachNote(loc) << "ranks may differ here";
    return error;
  }

  DenseSet<StringAttr> exchanging;
};
} // namespace

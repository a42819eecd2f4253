//===- HoistScratch.cpp - one stack buffer for each thread ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"

namespace bppsa {
#define GEN_PASS_DEF_HOISTSCRATCH
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Moves the allocations of `scope` to the start of the code of one thread.
static void hoistAllocations(memref::AllocaScopeOp scope) {
  auto parallel = scope->getParentOfType<omp::ParallelOp>();
  if (!parallel)
    return;
  Block &entry = parallel.getRegion().front();
  SmallVector<memref::AllocaOp> allocations;
  scope.walk([&](memref::AllocaOp op) {
    if (op.getDynamicSizes().empty() && op->getParentOfType<memref::AllocaScopeOp>() == scope)
      allocations.push_back(op);
  });
  for (memref::AllocaOp allocation : allocations)
    allocation->moveBefore(&entry, entry.begin());
}

/// Puts the body of `scope` in its place.
static void inlineScope(memref::AllocaScopeOp scope) {
  Block &body = scope.getBodyRegion().front();
  Operation *back = body.getTerminator();
  scope->replaceAllUsesWith(back->getOperands());
  back->erase();
  scope->getBlock()->getOperations().splice(scope->getIterator(), body.getOperations());
  scope->erase();
}

namespace {
struct HoistScratch : public bppsa::impl::HoistScratchBase<HoistScratch> {
  void runOnOperation() override {
    SmallVector<memref::AllocaScopeOp> scopes;
    getOperation().walk([&](memref::AllocaScopeOp scope) { scopes.push_back(scope); });
    for (memref::AllocaScopeOp scope : scopes) {
      hoistAllocations(scope);
      if (scope.getBodyRegion().hasOneBlock() && scope->getParentOfType<omp::ParallelOp>())
        inlineScope(scope);
    }
  }
};
} // namespace

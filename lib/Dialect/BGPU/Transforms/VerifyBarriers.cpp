//===- VerifyBarriers.cpp - check for missing barriers --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_VERIFYBARRIERS
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa::bgpu;

namespace {
struct VerifyBarriers : public bppsa::bgpu::impl::VerifyBarriersBase<VerifyBarriers> {
  using VerifyBarriersBase::VerifyBarriersBase;

  void runOnOperation() override {
    getOperation().walk([&](KernelOp kernel) {
      BarrierPlacement barriers(BarrierPlacement::Missing::Refuse);
      ++numKernels;
      if (failed(barriers.visitBlock(kernel.getBody().front())))
        signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};
} // namespace

//===- InsertBarriers.cpp - barriers of block-level kernels ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace bppsa::bgpu {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "bppsa/Dialect/BGPU/Transforms/Passes.h.inc"
} // namespace bppsa::bgpu

using namespace mlir;
using namespace bppsa::bgpu;

namespace {
struct InsertBarriers : public bppsa::bgpu::impl::InsertBarriersBase<InsertBarriers> {
  using InsertBarriersBase::InsertBarriersBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](KernelOp kernel) {
      BarrierPlacement barriers(BarrierPlacement::Missing::Insert);
      if (failed(barriers.visitBlock(kernel.getBody().front())))
        return WalkResult::interrupt();
      numBarriers += barriers.getNumBarriers();
      auto options = remark::RemarkOpts::name("InsertBarriers")
                         .category("barriers")
                         .function(getOperation().getSymName());
      int64_t ofWarps = barriers.getNumWarpBarriers();
      numWarpBarriers += ofWarps;
      std::string text = llvm::formatv("kernel: {0} barriers", barriers.getNumBarriers());
      if (ofWarps > 0)
        text += llvm::formatv(", {0} of them for single warps", ofWarps);
      remark::passed(kernel.getLoc(), options) << remark::add("{0}", text);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace

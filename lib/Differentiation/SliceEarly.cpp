//===- SliceEarly.cpp - computes only the slices that are used ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_SLICEEARLY
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;

namespace {
struct SliceEarlyPass : bppsa::impl::SliceEarlyBase<SliceEarlyPass> {
  void runOnOperation() override {
    // To simplify graphs is the canonicalizer's work: those without slices stay as they are.
    auto isSlice = [](Operation *op) {
      return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
    };
    if (!getOperation()->walk(isSlice).wasInterrupted())
      return;
    RewritePatternSet patterns(&getContext());
    linalg::populateBubbleUpExtractSliceOpPatterns(patterns);
    tensor::populateBubbleUpExtractSliceOpPatterns(patterns);
    tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
    // Offsets through reshapes of dimensions of size 1 must become plain again.
    affine::AffineLinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineDelinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    RewritePatternSet expansion(&getContext());
    affine::populateAffineExpandIndexOpsPatterns(expansion);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(expansion))))
      signalPassFailure();
  }
};
} // namespace

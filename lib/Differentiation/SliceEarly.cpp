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
/// Applies a pattern on slices, except to slices of operations that read their own indices: the
/// upstream pattern computes a part of such an operation without an offset to the indices.
class SliceWithoutIndices : public RewritePattern {
public:
  explicit SliceWithoutIndices(std::unique_ptr<RewritePattern> pattern)
      : RewritePattern(tensor::ExtractSliceOp::getOperationName(), pattern->getBenefit(),
                       pattern->getContext()),
        pattern(std::move(pattern)) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto source = cast<tensor::ExtractSliceOp>(op).getSource().getDefiningOp<linalg::LinalgOp>();
    if (source && source.hasIndexSemantics())
      return failure();
    return pattern->matchAndRewrite(op, rewriter);
  }

private:
  std::unique_ptr<RewritePattern> pattern;
};

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
    RewritePatternSet ofLinalg(&getContext());
    linalg::populateBubbleUpExtractSliceOpPatterns(ofLinalg);
    for (std::unique_ptr<RewritePattern> &pattern : ofLinalg.getNativePatterns())
      patterns.add(std::make_unique<SliceWithoutIndices>(std::move(pattern)));
    tensor::populateBubbleUpExtractSliceOpPatterns(patterns);
    tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
    // Offsets through reshapes of dimensions of size 1 must become plain again.
    affine::AffineLinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineDelinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    RewritePatternSet expansion(&getContext());
    affine::populateAffineExpandIndexOpsPatterns(expansion);
    // Some patterns undo others, so rewriting may end without a fixed point. The IR is valid then.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    (void)applyPatternsGreedily(getOperation(), std::move(expansion));
  }
};
} // namespace

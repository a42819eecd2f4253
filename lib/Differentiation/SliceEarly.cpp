//===- SliceEarly.cpp - compute only used slices --------------------------===//
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
/// Skips operations with index semantics, because the upstream pattern does not offset the indices
/// of a part.
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
    // The greedy driver would also simplify functions without slices, which is the canonicalizer's
    // task.
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
    // Simplifies offsets that pass through reshapes of unit dimensions.
    affine::AffineLinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    affine::AffineDelinearizeIndexOp::getCanonicalizationPatterns(patterns, &getContext());
    RewritePatternSet expansion(&getContext());
    affine::populateAffineExpandIndexOpsPatterns(expansion);
    // Some patterns undo others, so rewriting may stop before a fixed point, with valid IR.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
    (void)applyPatternsGreedily(getOperation(), std::move(expansion));
  }
};
} // namespace

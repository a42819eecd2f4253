//===- ExpandViews.cpp - views as offsets and strides ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_EXPANDVIEWS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct ExpandViews : public bppsa::impl::ExpandViewsBase<ExpandViews> {
  void runOnOperation() override {
    SmallVector<Operation *> views;
    getOperation()->walk([&](Operation *op) {
      if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
              memref::ExtractStridedMetadataOp, memref::ExtractAlignedPointerAsIndexOp>(op))
        views.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    memref::populateExpandStridedMetadataPatterns(patterns);
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(views, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace

//===- UnitDims.cpp - removal of unit dimensions --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Utils/UnitDims.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::dropUnitDim(IRRewriter &rewriter, linalg::GenericOp generic, unsigned dim) {
  AffineMap map = generic.getIndexingMapsArray().back();
  auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
  if (!expr)
    return false;
  linalg::ControlDropUnitDims control;
  control.controlFn = [&](Operation *) { return SmallVector<unsigned>{expr.getPosition()}; };
  rewriter.setInsertionPoint(generic);
  FailureOr<linalg::DropUnitDimsResult> dropped = linalg::dropUnitDims(rewriter, generic, control);
  if (failed(dropped))
    return false;
  rewriter.replaceOp(generic, dropped->replacements);
  return true;
}

namespace {
/// The slice lies within one operand of a concatenation.
struct SliceOperand : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto concat = slice.getSource().getDefiningOp<tensor::ConcatOp>();
    if (!concat || !slice.hasUnitStride())
      return failure();
    uint64_t axis = concat.getDim();
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    std::optional<int64_t> offset = getConstantIntValue(offsets[axis]),
                           size = getConstantIntValue(slice.getMixedSizes()[axis]);
    for (Value operand : concat.getInputs()) {
      int64_t extent = cast<RankedTensorType>(operand.getType()).getDimSize(axis);
      if (!offset || !size || ShapedType::isDynamic(extent))
        return failure();
      if (*offset < extent) {
        if (*offset + *size > extent)
          return failure();
        offsets[axis] = rewriter.getIndexAttr(*offset);
        rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(slice, slice.getType(), operand,
                                                            offsets, slice.getMixedSizes(),
                                                            slice.getMixedStrides());
        return success();
      }
      *offset -= extent;
    }
    return failure();
  }
};

struct SliceWhole : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto expand = slice.getSource().getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand || slice.getType() != expand.getType() || !slice.hasUnitStride() ||
        !slice.hasZeroOffset() || slice.getMixedSizes() != expand.getMixedOutputShape())
      return failure();
    rewriter.replaceOp(slice, expand.getResult());
    return success();
  }
};
} // namespace

void bppsa::foldReshapes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  patterns.add<SliceOperand, SliceWhole>(context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, context);
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  (void)applyPatternsGreedily(function, std::move(patterns));
}

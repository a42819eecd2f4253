//===- Products.cpp - products and sums over samples and steps ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "Patterns.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// One operand of a sum of products: which loops index its dimensions.
namespace {
struct Factor {
  Value tensor;
  SmallVector<unsigned> dims;
};
} // namespace

/// `result[0 .. numParallel - 1] = sum over the other loops of the product of
/// `factors`.
static Value createSumOfProducts(OpBuilder &builder, Location loc, unsigned numParallel,
                                 unsigned numLoops, ArrayRef<Factor> factors) {
  SmallVector<OpFoldResult> sizes(numParallel);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Factor &factor : factors) {
    inputs.push_back(factor.tensor);
    maps.push_back(
        AffineMap::getMultiDimMapWithTargets(numLoops, factor.dims, builder.getContext()));
    for (auto [i, dim] : llvm::enumerate(factor.dims))
      if (dim < numParallel && !sizes[dim])
        sizes[dim] = tensor::getMixedSize(builder, loc, factor.tensor, i);
  }
  maps.push_back(builder.getMultiDimIdentityMap(numLoops).getMajorSubMap(numParallel));
  SmallVector<utils::IteratorType> iterators(numLoops, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), numParallel, utils::IteratorType::parallel);
  Type elementType = cast<RankedTensorType>(inputs.front().getType()).getElementType();
  Value init = createZeros(builder, loc, sizes, elementType);
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators,
      [](OpBuilder &nested, Location nestedLoc, ValueRange elements) {
        Value product = elements.front();
        for (Value factor : elements.drop_front().drop_back())
          product = arith::MulFOp::create(nested, nestedLoc, product, factor);
        Value sum = arith::AddFOp::create(nested, nestedLoc, elements.back(), product);
        linalg::YieldOp::create(nested, nestedLoc, sum);
      });
  return generic.getResult(0);
}

/// The loops that index a matrix `rows x cols`, or one for each sample.
static SmallVector<unsigned> getMatrixDims(Value matrix, unsigned row, unsigned col) {
  if (cast<RankedTensorType>(matrix.getType()).getRank() == 3)
    return {0, row, col};
  return {row, col};
}

namespace {
struct ConvertCompose : OpConversionPattern<ComposeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ComposeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    // Loops: the sample, where there is one; row; column; summed.
    unsigned row = type.getRank() - 2, col = row + 1, inner = row + 2;
    Factor second = {adaptor.getSecond(), getMatrixDims(adaptor.getSecond(), row, inner)};
    Factor first = {adaptor.getFirst(), getMatrixDims(adaptor.getFirst(), inner, col)};
    Value product = createSumOfProducts(rewriter, op.getLoc(), type.getRank(), type.getRank() + 1,
                                        {second, first});
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), product, type));
    return success();
  }
};

struct ConvertApply : OpConversionPattern<ApplyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ApplyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Factor jacobian = {adaptor.getJacobian(), getMatrixDims(adaptor.getJacobian(), 1, 2)};
    Factor cotangent = {adaptor.getCotangent(), {0, 2}};
    Value product = createSumOfProducts(rewriter, op.getLoc(), 2, 3, {cotangent, jacobian});
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), product, op.getType()));
    return success();
  }
};
} // namespace

/// The loops that index a sequence, plain `[T, B, N]` or packed `[NB, T, N, L]`,
/// whose feature is loop `feature`; `first` is the first loop of the others.
static SmallVector<unsigned> getSequenceDims(bool packed, unsigned feature, unsigned first) {
  if (packed)
    return {first, first + 1, feature, first + 2};
  return {first, first + 1, feature};
}

/// A sequence that `op` sums over. Where the number of samples is known it is a
/// plain one: the lanes beyond the last sample go away.
template <typename SumOp>
static Factor getSequence(OpBuilder &builder, SumOp op, Value sequence, unsigned feature,
                          unsigned first) {
  if (!op.getBatch())
    return {sequence, getSequenceDims(op.getLanes().has_value(), feature, first)};
  auto type = cast<RankedTensorType>(sequence.getType());
  auto plain = RankedTensorType::get({type.getDimSize(1), ShapedType::kDynamic, type.getDimSize(2)},
                                     type.getElementType());
  Value unpacked = UnpackLanesOp::create(builder, op.getLoc(), plain, sequence, op.getBatch(),
                                         Value(), *op.getLanes())
                       .getResult();
  return {unpacked, getSequenceDims(/*packed=*/false, feature, first)};
}

namespace {
struct ConvertOuterSum : OpConversionPattern<OuterSumOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(OuterSumOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Factor lhs = getSequence(rewriter, op, adaptor.getLhs(), 0, 2);
    Factor rhs = getSequence(rewriter, op, adaptor.getRhs(), 1, 2);
    unsigned numLoops = lhs.dims.size() + 1;
    Value sum = createSumOfProducts(rewriter, op.getLoc(), 2, numLoops, {lhs, rhs});
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), sum, op.getResult().getType()));
    return success();
  }
};

struct ConvertStepSum : OpConversionPattern<StepSumOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(StepSumOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Factor sequence = getSequence(rewriter, op, adaptor.getSequence(), 0, 1);
    Value sum = createSumOfProducts(rewriter, op.getLoc(), 1, sequence.dims.size(), sequence);
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), sum, op.getResult().getType()));
    return success();
  }
};
} // namespace

void bppsa::populateProductPatterns(RewritePatternSet &patterns, const TypeConverter &converter) {
  patterns.add<ConvertApply, ConvertCompose, ConvertOuterSum, ConvertStepSum>(
      converter, patterns.getContext());
}

//===- Layout.cpp - packed arrays and packed loops ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "Patterns.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// `[NB, T, N, L]` as `[T, NB * L, N]`, `[NB, N, L]` as `[NB * L, N]`.
static RankedTensorType getPlainType(RankedTensorType packed) {
  ArrayRef<int64_t> shape = packed.getShape();
  bool isDynamic = ShapedType::isDynamic(shape.front());
  int64_t samples = isDynamic ? ShapedType::kDynamic : shape.front() * shape.back();
  SmallVector<int64_t> plain(shape.drop_front().drop_back());
  plain.insert(plain.end() - 1, samples);
  return RankedTensorType::get(plain, packed.getElementType());
}

/// The packed form of `plain`.
static RankedTensorType getPackedType(RankedTensorType plain, int64_t lanes) {
  SmallVector<int64_t> shape(plain.getShape());
  int64_t samples = shape[shape.size() - 2];
  shape.erase(shape.end() - 2);
  bool isDynamic = ShapedType::isDynamic(samples);
  shape.insert(shape.begin(), isDynamic ? ShapedType::kDynamic : llvm::divideCeil(samples, lanes));
  shape.push_back(lanes);
  return RankedTensorType::get(shape, plain.getElementType());
}

/// A tensor of `sizes` whose elements `compute` makes from their indices.
static Value createFromIndices(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> sizes,
                               Type elementType,
                               function_ref<Value(OpBuilder &, ArrayRef<Value>)> compute) {
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, elementType);
  SmallVector<utils::IteratorType> iterators(sizes.size(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), ValueRange(), empty,
      ArrayRef{builder.getMultiDimIdentityMap(sizes.size())}, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange) {
        SmallVector<Value> indices;
        for (size_t i = 0; i < sizes.size(); ++i)
          indices.push_back(linalg::IndexOp::create(nested, nestedLoc, i));
        linalg::YieldOp::create(nested, nestedLoc, compute(nested, indices));
      });
  return generic.getResult(0);
}

//===----------------------------------------------------------------------===//
// pack_lanes and unpack_lanes
//===----------------------------------------------------------------------===//

namespace {
struct ConvertPack : OpConversionPattern<PackLanesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(PackLanesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value source = adaptor.getSource();
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, source);
    Value samples = getValueOrCreateConstantIndexOp(rewriter, loc, sizes[sizes.size() - 2]);
    Value lanes = arith::ConstantIndexOp::create(rewriter, loc, op.getLanes());
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value last = arith::SubIOp::create(rewriter, loc, samples, one);
    Value zero =
        arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    Value blocks = arith::CeilDivUIOp::create(rewriter, loc, samples, lanes);

    sizes.erase(sizes.end() - 2);
    sizes.insert(sizes.begin(), blocks);
    sizes.push_back(rewriter.getIndexAttr(op.getLanes()));
    Value result = createFromIndices(
        rewriter, loc, sizes, type.getElementType(), [&](OpBuilder &b, ArrayRef<Value> index) {
          Value first = arith::MulIOp::create(b, loc, index.front(), lanes);
          Value sample = arith::AddIOp::create(b, loc, first, index.back());
          // Lanes beyond the last sample read that one and are then cleared.
          Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, sample, samples);
          SmallVector<Value> from(index.drop_front().drop_back());
          from.insert(from.end() - 1, arith::MinUIOp::create(b, loc, sample, last));
          Value element = tensor::ExtractOp::create(b, loc, source, from);
          return arith::SelectOp::create(b, loc, inside, element, zero).getResult();
        });
    rewriter.replaceOp(op, castTo(rewriter, loc, result, op.getResult().getType()));
    return success();
  }
};

struct ConvertUnpack : OpConversionPattern<UnpackLanesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(UnpackLanesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value source = adaptor.getSource();
    SmallVector<OpFoldResult> packed = tensor::getMixedSizes(rewriter, loc, source);
    SmallVector<OpFoldResult> sizes(ArrayRef(packed).drop_front().drop_back());
    sizes.insert(sizes.end() - 1, adaptor.getBatch());
    Value lanes = arith::ConstantIndexOp::create(rewriter, loc, op.getLanes());
    Type elementType = cast<RankedTensorType>(source.getType()).getElementType();
    Value result = createFromIndices(
        rewriter, loc, sizes, elementType, [&](OpBuilder &b, ArrayRef<Value> index) {
          Value sample = index[index.size() - 2];
          SmallVector<Value> from = {arith::DivUIOp::create(b, loc, sample, lanes)};
          if (index.size() == 3)
            from.push_back(index.front());
          from.push_back(index.back());
          from.push_back(arith::RemUIOp::create(b, loc, sample, lanes));
          return tensor::ExtractOp::create(b, loc, source, from).getResult();
        });
    rewriter.replaceOp(op, castTo(rewriter, loc, result, op.getResult().getType()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Packed loops
//===----------------------------------------------------------------------===//

/// A packed loop is a plain one between unpack_lanes and pack_lanes, whose
/// samples are all lanes, those of the padding included.
template <typename LoopOp> struct UnpackLoop : OpConversionPattern<LoopOp> {
  using OpConversionPattern<LoopOp>::OpConversionPattern;

  LogicalResult matchAndRewrite(LoopOp op, typename LoopOp::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getLanes())
      return failure();
    Location loc = op.getLoc();
    int64_t lanes = *op.getLanes();
    Value blocks = getValueOrCreateConstantIndexOp(
        rewriter, loc, tensor::getMixedSize(rewriter, loc, adaptor.getOperands().front(), 0));
    Value width = arith::ConstantIndexOp::create(rewriter, loc, lanes);
    Value samples = arith::MulIOp::create(rewriter, loc, blocks, width);

    // Captures are the same for all samples.
    llvm::SmallBitVector isCapture(op->getNumOperands());
    for (OpOperand &capture : op.getCapturesMutable())
      isCapture.set(capture.getOperandNumber());
    SmallVector<Value> operands;
    for (auto [i, value] : llvm::enumerate(adaptor.getOperands()))
      operands.push_back(isCapture[i] ? value : unpack(rewriter, loc, value, samples, lanes));
    Operation *plain = createPlainLoop(rewriter, op, operands);
    SmallVector<Value> results;
    for (auto [value, type] : llvm::zip_equal(plain->getResults(), op->getResultTypes())) {
      Type packedType = getPackedType(cast<RankedTensorType>(value.getType()), lanes);
      Value packed =
          PackLanesOp::create(rewriter, loc, packedType, value, Value(), lanes).getResult();
      results.push_back(castTo(rewriter, loc, packed, type));
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static Value unpack(OpBuilder &builder, Location loc, Value value, Value samples, int64_t lanes) {
    Type type = getPlainType(cast<RankedTensorType>(value.getType()));
    return UnpackLanesOp::create(builder, loc, type, value, samples, Value(), lanes).getResult();
  }

  /// `op` on plain `operands`, with its body.
  static Operation *createPlainLoop(ConversionPatternRewriter &rewriter, LoopOp op,
                                    ValueRange operands) {
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      types.push_back(getPlainType(cast<RankedTensorType>(type)));
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("lanes");
    OperationState state(op.getLoc(), op->getName(), operands, types, attributes);
    Region *body = state.addRegion();
    rewriter.inlineRegionBefore(op.getBody(), *body, body->end());
    return rewriter.create(state);
  }
};
} // namespace

void bppsa::populateLayoutPatterns(RewritePatternSet &patterns, const TypeConverter &converter) {
  patterns.add<ConvertPack, ConvertUnpack, UnpackLoop<RecurrenceOp>, UnpackLoop<ChainOp>>(
      converter, patterns.getContext());
}

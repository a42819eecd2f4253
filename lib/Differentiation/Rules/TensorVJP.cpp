//===- TensorVJP.cpp - VJPs of tensor ops ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "ElementwiseVJP.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace mlir::tensor;
using namespace bppsa;

namespace {
template <typename OpTy, Value (*buildCotangent)(OpTy, unsigned, Value, OpBuilder &)>
struct TensorVJP : VJPOpInterface::ExternalModel<TensorVJP<OpTy, buildCotangent>, OpTy> {
  LogicalResult buildVJP(Operation *op, OpBuilder &builder, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    for (unsigned i = 0; i < needed.size(); ++i)
      if (needed[i])
        operandCotangents[i] = buildCotangent(cast<OpTy>(op), i, resultCotangents.front(), builder);
    return success();
  }
};
} // namespace

static Value expandVJP(ExpandShapeOp op, unsigned, Value g, OpBuilder &b) {
  return b.createOrFold<CollapseShapeOp>(op.getLoc(), op.getSrcType(), g,
                                         op.getReassociationIndices());
}

/// Returns the only dimension of each group whose size is not 1, or nullopt if a group has several.
static std::optional<SmallVector<int64_t>>
findMainDims(RankedTensorType type, ArrayRef<ReassociationIndices> reassociation) {
  SmallVector<int64_t> dims;
  for (const ReassociationIndices &group : reassociation) {
    dims.push_back(group.front());
    int64_t others = 0;
    for (int64_t dim : group)
      if (type.getDimSize(dim) != 1) {
        dims.back() = dim;
        ++others;
      }
    if (others > 1)
      return std::nullopt;
  }
  return dims;
}

/// Expands the inserted value instead of the result, so sums of slices stay slices.
static Value expandSlice(InsertSliceOp slice, CollapseShapeOp op, OpBuilder &b) {
  RankedTensorType type = op.getSrcType();
  SmallVector<ReassociationIndices> reassociation = op.getReassociationIndices();
  std::optional<SmallVector<int64_t>> dims = findMainDims(type, reassociation);
  if (!slice || !dims || !type.hasStaticShape() || !isZeros(slice.getDest()) ||
      slice.getSourceType().getRank() != slice.getDestType().getRank())
    return {};
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(type.getRank(), b.getIndexAttr(1)), strides = sizes;
  SmallVector<int64_t> shape(type.getRank(), 1);
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    offsets[dim] = slice.getMixedOffsets()[i];
    sizes[dim] = slice.getMixedSizes()[i];
    strides[dim] = slice.getMixedStrides()[i];
    shape[dim] = slice.getSourceType().getDimSize(i);
  }
  Location loc = op.getLoc();
  Value expanded =
      ExpandShapeOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()),
                            slice.getSource(), reassociation, sizes);
  return InsertSliceOp::create(b, loc, expanded, createZerosLike(b, loc, op.getSrc()), offsets,
                               sizes, strides);
}

static Value collapseVJP(CollapseShapeOp op, unsigned, Value g, OpBuilder &b) {
  if (Value slice = expandSlice(g.getDefiningOp<InsertSliceOp>(), op, b))
    return slice;
  SmallVector<OpFoldResult> shape = getMixedSizes(b, op.getLoc(), op.getSrc());
  return b.createOrFold<ExpandShapeOp>(op.getLoc(), op.getSrcType(), g,
                                       op.getReassociationIndices(), shape);
}

static Value reshapeVJP(ReshapeOp op, unsigned, Value g, OpBuilder &b) {
  Location loc = op.getLoc();
  SmallVector<Value> sizes =
      getValueOrCreateConstantIndexOp(b, loc, getMixedSizes(b, loc, op.getSource()));
  auto shapeType = RankedTensorType::get({static_cast<int64_t>(sizes.size())}, b.getIndexType());
  Value shape = FromElementsOp::create(b, loc, shapeType, sizes);
  return ReshapeOp::create(b, loc, op.getSource().getType(), g, shape);
}

static Value castVJP(CastOp op, unsigned, Value g, OpBuilder &b) {
  return CastOp::create(b, op.getLoc(), op.getSource().getType(), g);
}

static Value extractSliceVJP(ExtractSliceOp op, unsigned, Value g, OpBuilder &b) {
  Value zeros = createZerosLike(b, op.getLoc(), op.getSource());
  return InsertSliceOp::create(b, op.getLoc(), g, zeros, op.getMixedOffsets(), op.getMixedSizes(),
                               op.getMixedStrides());
}

static Value insertSliceVJP(InsertSliceOp op, unsigned operand, Value g, OpBuilder &b) {
  if (operand == 0)
    return ExtractSliceOp::create(b, op.getLoc(), op.getSourceType(), g, op.getMixedOffsets(),
                                  op.getMixedSizes(), op.getMixedStrides());
  Value zeros = createZerosLike(b, op.getLoc(), op.getSource());
  return InsertSliceOp::create(b, op.getLoc(), zeros, g, op.getMixedOffsets(), op.getMixedSizes(),
                               op.getMixedStrides());
}

namespace {
struct ConcatVJP : VJPOpInterface::ExternalModel<ConcatVJP, ConcatOp> {
  LogicalResult buildVJP(Operation *operation, OpBuilder &b, ValueRange resultCotangents,
                         ArrayRef<bool> needed, MutableArrayRef<Value> operandCotangents) const {
    auto op = cast<ConcatOp>(operation);
    Location loc = op.getLoc();
    int64_t axis = op.getDim(), rank = op.getResultType().getRank();
    AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1);
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1));
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      if (i > 0)
        offsets[axis] = affine::makeComposedFoldedAffineApply(
            b, loc, s0 + s1, {offsets[axis], getMixedSize(b, loc, op.getInputs()[i - 1], axis)});
      if (needed[i])
        operandCotangents[i] = ExtractSliceOp::create(
            b, loc, cast<RankedTensorType>(input.getType()), resultCotangents.front(), offsets,
            getMixedSizes(b, loc, input), strides);
    }
    return success();
  }
};
} // namespace

void bppsa::registerTensorVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TensorDialect *) {
    CastOp::attachInterface<TensorVJP<CastOp, castVJP>>(*context);
    CollapseShapeOp::attachInterface<TensorVJP<CollapseShapeOp, collapseVJP>>(*context);
    ConcatOp::attachInterface<ConcatVJP>(*context);
    ExpandShapeOp::attachInterface<TensorVJP<ExpandShapeOp, expandVJP>>(*context);
    ExtractSliceOp::attachInterface<TensorVJP<ExtractSliceOp, extractSliceVJP>>(*context);
    InsertSliceOp::attachInterface<TensorVJP<InsertSliceOp, insertSliceVJP>>(*context);
    ReshapeOp::attachInterface<TensorVJP<ReshapeOp, reshapeVJP>>(*context);
    context->loadDialect<affine::AffineDialect, linalg::LinalgDialect>();
  });
}

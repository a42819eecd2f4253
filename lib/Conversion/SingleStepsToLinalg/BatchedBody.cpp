//===- BatchedBody.cpp - batched bodies -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BatchedBody.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

/// Accepts row-wise cell operations, broadcasts and vector slices.
static bool isBatchable(Operation &op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (cell && cell.isRowWise())
    return true;
  auto vector = cell || isa<vector::BroadcastOp>(op)
                    ? dyn_cast<VectorType>(op.getResult(0).getType())
                    : VectorType();
  return vector && vector.getRank() == 1;
}

bool bppsa::isBatchable(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) { return ::isBatchable(op); });
}

Value bppsa::castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type ? value : tensor::CastOp::create(builder, loc, type, value);
}

static Value createZeros(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> sizes,
                         Type elementType) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(elementType));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, elementType);
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

/// Returns 0 for scalars.
static int64_t getBodyRank(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getRank() : 0;
}

bool BatchedBody::isBatched(Value value) const {
  return getBodyRank(values.lookup(value).getType()) > getBodyRank(value.getType());
}

SmallVector<OpFoldResult> BatchedBody::getSizes(ShapedType type, bool batched) {
  SmallVector<OpFoldResult> sizes;
  if (batched)
    sizes.push_back(batch);
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  return sizes;
}

Value BatchedBody::createGeneric(ShapedType type, bool batched, ValueRange operands,
                                 function_ref<Value(OpBuilder &, ValueRange)> compute) {
  MLIRContext *context = builder.getContext();
  int64_t rank = type.getRank() + batched;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Value operand : operands) {
    inputs.push_back(values.lookup(operand));
    // Trailing dimensions map to the result, or to 0 if broadcast.
    SmallVector<AffineExpr> exprs;
    auto shaped = dyn_cast<ShapedType>(operand.getType());
    if (isBatched(operand))
      exprs.push_back(getAffineDimExpr(0, context));
    for (int64_t i = 0, e = getBodyRank(operand.getType()); i < e; ++i) {
      int64_t dim = rank - e + i;
      bool repeats = shaped.getDimSize(i) != type.getDimSize(type.getRank() - e + i);
      exprs.push_back(repeats ? getAffineConstantExpr(0, context) : getAffineDimExpr(dim, context));
    }
    maps.push_back(AffineMap::get(rank, 0, exprs, context));
  }
  Value empty =
      tensor::EmptyOp::create(builder, loc, getSizes(type, batched), type.getElementType());
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), inputs, empty, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        linalg::YieldOp::create(nested, nestedLoc, compute(nested, arguments.drop_back()));
      });
  return generic.getResult(0);
}

Value BatchedBody::makeBatched(Value value) {
  if (isBatched(value))
    return values.lookup(value);
  return createGeneric(cast<ShapedType>(value.getType()), /*batched=*/true, value,
                       [](OpBuilder &, ValueRange elements) { return elements.front(); });
}

Value BatchedBody::convertConstant(Operation *op) {
  auto constant = cast<arith::ConstantOp>(op);
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense)
    return builder.clone(*op)->getResult(0);
  auto type = RankedTensorType::get(dense.getType().getShape(), dense.getElementType());
  return arith::ConstantOp::create(builder, loc, dense.reshape(type));
}

Value BatchedBody::convertElementwise(Operation *op) {
  auto type = dyn_cast<ShapedType>(op->getResult(0).getType());
  if (!type) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, values.lookup(operand));
    return builder.clone(*op, mapping)->getResult(0);
  }
  bool batched = llvm::any_of(op->getOperands(), [&](Value v) { return isBatched(v); });
  return createGeneric(
      type, batched, op->getOperands(), [&](OpBuilder &nested, ValueRange x) -> Value {
        if (isa<vector::BroadcastOp>(op))
          return x.front();
        OperationState state(loc, op->getName(), x, type.getElementType(), op->getAttrs());
        return nested.create(state)->getResult(0);
      });
}

/// Dimensions are batch (if any), rows and columns. The addend comes after the product, as in
/// products of the importer.
Value BatchedBody::convertMatVec(Operation *op) {
  auto matvec = cast<MatVecOp>(op);
  MLIRContext *context = builder.getContext();
  bool batched = isBatched(matvec.getVector());
  int64_t rank = batched ? 3 : 2;
  AffineExpr row = getAffineDimExpr(rank - 2, context), col = getAffineDimExpr(rank - 1, context);
  auto getMap = [&](bool hasBatch, ArrayRef<AffineExpr> exprs) {
    SmallVector<AffineExpr> all;
    if (hasBatch)
      all.push_back(getAffineDimExpr(0, context));
    llvm::append_range(all, exprs);
    return AffineMap::get(rank, 0, all, context);
  };
  auto type = cast<ShapedType>(matvec.getType());
  Value init = createZeros(builder, loc, getSizes(type, batched), type.getElementType());
  AffineMap matrixMap =
      getMap(false, matvec.getTransposed() ? ArrayRef{col, row} : ArrayRef{row, col});
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(),
      ValueRange{values.lookup(matvec.getMatrix()), values.lookup(matvec.getVector())}, init,
      ArrayRef{matrixMap, getMap(isBatched(matvec.getVector()), col), getMap(batched, row)},
      iterators, [](OpBuilder &nested, Location nestedLoc, ValueRange x) {
        Value product = arith::MulFOp::create(nested, nestedLoc, x[0], x[1]);
        linalg::YieldOp::create(
            nested, nestedLoc, arith::AddFOp::create(nested, nestedLoc, x[2], product).getResult());
      });
  if (!matvec.getAddend())
    return generic.getResult(0);
  // `createGeneric` looks up values of the body.
  values[matvec] = generic.getResult(0);
  return createGeneric(type, batched || isBatched(matvec.getAddend()), {matvec.getAddend(), matvec},
                       [&](OpBuilder &nested, ValueRange x) -> Value {
                         return arith::AddFOp::create(nested, loc, x[1], x[0]);
                       });
}

/// The result has `first` for the batch, if any, and `last` for the last dimension.
static SmallVector<OpFoldResult> getSlicePart(OpBuilder &builder, bool batched, OpFoldResult first,
                                              int64_t last) {
  SmallVector<OpFoldResult> part;
  if (batched)
    part.push_back(first);
  part.push_back(builder.getIndexAttr(last));
  return part;
}

Value BatchedBody::convertExtractSlice(Operation *op) {
  auto slice = cast<vector::ExtractStridedSliceOp>(op);
  bool batched = isBatched(slice.getSource());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
  return tensor::ExtractSliceOp::create(
      builder, loc, values.lookup(slice.getSource()), getSlicePart(builder, batched, zero, offset),
      getSizes(slice.getType(), batched), getSlicePart(builder, batched, one, 1));
}

Value BatchedBody::convertInsertSlice(Operation *op) {
  auto slice = cast<vector::InsertStridedSliceOp>(op);
  bool batched = isBatched(slice.getValueToStore()) || isBatched(slice.getDest());
  auto get = [&](Value value) { return batched ? makeBatched(value) : values.lookup(value); };
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
  return tensor::InsertSliceOp::create(
      builder, loc, get(slice.getValueToStore()), get(slice.getDest()),
      getSlicePart(builder, batched, zero, offset),
      getSizes(cast<ShapedType>(slice.getValueToStore().getType()), batched),
      getSlicePart(builder, batched, one, 1));
}

Value BatchedBody::convert(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return convertConstant(op);
  if (isa<MatVecOp>(op))
    return convertMatVec(op);
  if (isa<vector::ExtractStridedSliceOp>(op))
    return convertExtractSlice(op);
  if (isa<vector::InsertStridedSliceOp>(op))
    return convertInsertSlice(op);
  return convertElementwise(op);
}

SmallVector<Value> BatchedBody::convert(Block &body) {
  for (Operation &op : body.without_terminator())
    values[op.getResult(0)] = convert(&op);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(makeBatched(value));
  return yielded;
}

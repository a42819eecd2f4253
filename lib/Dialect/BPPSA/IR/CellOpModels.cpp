//===- CellOpModels.cpp - cell models of upstream operations --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

static constexpr CellWork kSimple = CellWork::Simple;

namespace {
/// Missing `slopes` are opaque.
template <typename OpTy, CellWork work, CellSlope... slopes>
struct Elementwise : CellOpInterface::ExternalModel<Elementwise<OpTy, work, slopes...>, OpTy> {
  CellWork getWork(Operation *) const { return work; }
  CellSlope getSlope(Operation *, unsigned operand) const {
    constexpr CellSlope all[] = {slopes..., CellSlope::Opaque};
    return operand < sizeof...(slopes) ? all[operand] : CellSlope::Opaque;
  }
  // The default casts to `OpTy`, which is `Operation` for shared models.
  Value emitRow(Operation *op, OpBuilder &builder, Type type, const RowReader &rows) const {
    return cloneForRow(builder, op, type, rows);
  }
};

struct Product : CellOpInterface::ExternalModel<Product, arith::MulFOp> {
  CellWork getWork(Operation *) const { return kSimple; }
  CellSlope getSlope(Operation *, unsigned) const { return CellSlope::ByOthers; }
  Value scaleBySlope(Operation *op, OpBuilder &builder, unsigned operand, Value scale,
                     const IRMapping &others) const {
    Value factor = others.lookup(op->getOperand(1 - operand));
    return scale ? arith::MulFOp::create(builder, op->getLoc(), scale, factor) : factor;
  }
};

Value createFilled(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr entry = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    entry = DenseElementsAttr::get(shaped, Attribute(entry));
  return arith::ConstantOp::create(builder, loc, entry);
}

struct Quotient : CellOpInterface::ExternalModel<Quotient, arith::DivFOp> {
  CellWork getWork(Operation *) const { return CellWork::Division; }
  CellSlope getSlope(Operation *, unsigned operand) const {
    return operand == 0 ? CellSlope::ByOthers : CellSlope::Opaque;
  }
  Value scaleBySlope(Operation *op, OpBuilder &builder, unsigned, Value scale,
                     const IRMapping &others) const {
    Value divisor = others.lookup(op->getOperand(1));
    Value dividend = scale ? scale : createFilled(builder, op->getLoc(), divisor.getType(), 1);
    return arith::DivFOp::create(builder, op->getLoc(), dividend, divisor);
  }
};

/// Selection scales one operand by one, the other by zero.
struct Choice : CellOpInterface::ExternalModel<Choice, arith::SelectOp> {
  CellWork getWork(Operation *) const { return kSimple; }
  CellSlope getSlope(Operation *, unsigned operand) const {
    return operand == 0 ? CellSlope::Opaque : CellSlope::ByCondition;
  }
  Value scaleBySlope(Operation *op, OpBuilder &builder, unsigned operand, Value scale,
                     const IRMapping &others) const {
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType();
    Value one = createFilled(builder, loc, type, 1), zero = createFilled(builder, loc, type, 0);
    Value mask = arith::SelectOp::create(builder, loc, others.lookup(op->getOperand(0)),
                                         operand == 1 ? one : zero, operand == 1 ? zero : one);
    return scale ? arith::MulFOp::create(builder, loc, scale, mask) : mask;
  }
};
} // namespace

namespace {
struct Constant : CellOpInterface::ExternalModel<Constant, arith::ConstantOp> {
  CellWork getWork(Operation *) const { return CellWork::Move; }
  Value emitRow(Operation *op, OpBuilder &builder, Type type, const RowReader &rows) const;
};
} // namespace

Value Constant::emitRow(Operation *op, OpBuilder &builder, Type type, const RowReader &rows) const {
  Location loc = op->getLoc();
  auto dense = cast<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  auto vector = dyn_cast<VectorType>(type);
  if (dense.isSplat()) {
    auto value = dense.getSplatValue<TypedAttr>();
    if (vector)
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value all = arith::ConstantOp::create(builder, loc, dense);
  auto getEntry = [&](Value row) -> Value {
    return vector::ExtractOp::create(builder, loc, all, OpFoldResult(row));
  };
  if (!vector)
    return getEntry(rows.row);
  if (!rows.spansRows)
    return vector::BroadcastOp::create(builder, loc, vector, getEntry(rows.row));
  SmallVector<Value> entries = {getEntry(rows.row)};
  for (int64_t i = 1; i < vector.getDimSize(0); ++i) {
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    entries.push_back(getEntry(arith::AddIOp::create(builder, loc, rows.row, offset)));
  }
  return vector::FromElementsOp::create(builder, loc, vector, entries);
}

static Value getOffset(OpBuilder &builder, Location loc, ArrayAttr offsets) {
  return arith::ConstantIndexOp::create(builder, loc, cast<IntegerAttr>(offsets[0]).getInt());
}

namespace {
struct ExtractSlice : CellOpInterface::ExternalModel<ExtractSlice, vector::ExtractStridedSliceOp> {
  CellWork getWork(Operation *) const { return CellWork::Move; }
  RowAccess getRowAccess(Operation *, unsigned) const { return RowAccess::Other; }
  Value emitRow(Operation *op, OpBuilder &builder, Type, const RowReader &rows) const {
    auto slice = cast<vector::ExtractStridedSliceOp>(op);
    Value offset = getOffset(builder, op->getLoc(), slice.getOffsets());
    Value row = builder.createOrFold<arith::AddIOp>(op->getLoc(), rows.row, offset);
    return rows.other(slice.getSource(), row);
  }
};

struct InsertSlice : CellOpInterface::ExternalModel<InsertSlice, vector::InsertStridedSliceOp> {
  CellWork getWork(Operation *) const { return CellWork::Move; }
  RowAccess getRowAccess(Operation *, unsigned operand) const {
    return operand == 0 ? RowAccess::Other : RowAccess::Same;
  }
  Value emitRow(Operation *op, OpBuilder &builder, Type type, const RowReader &rows) const;
};
} // namespace

Value InsertSlice::emitRow(Operation *op, OpBuilder &builder, Type, const RowReader &rows) const {
  assert(!rows.spansRows && "a vector may begin in one part and end in another");
  auto insert = cast<vector::InsertStridedSliceOp>(op);
  Location loc = op->getLoc();
  int64_t rowsOfPart = insert.getSourceVectorType().getDimSize(0);
  Value offset = getOffset(builder, loc, insert.getOffsets());
  Value shifted = builder.createOrFold<arith::SubIOp>(loc, rows.row, offset);
  // The index is unsigned, so earlier rows wrap around to large values.
  Value isInside =
      builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, shifted,
                                          arith::ConstantIndexOp::create(builder, loc, rowsOfPart));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value at = builder.createOrFold<arith::SelectOp>(loc, isInside, shifted, zero);
  Value inserted = rows.other(insert.getValueToStore(), at), other = rows.same(insert.getDest());
  return builder.createOrFold<arith::SelectOp>(loc, isInside, inserted, other);
}

template <typename OpTy, CellWork work, CellSlope... slopes>
static void attach(MLIRContext *context) {
  OpTy::template attachInterface<Elementwise<OpTy, work, slopes...>>(*context);
}

template <CellWork work> static void attachToRest(MLIRContext *context, StringRef dialect) {
  // getRegisteredOperationsByDialect is empty in some contexts.
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && name.hasTrait<OpTrait::Elementwise>() &&
        name.hasTrait<OpTrait::OneResult>())
      name.attachInterface<Elementwise<Operation, work>>();
}

void bppsa::attachCellOpModels(MLIRContext *context) {
  constexpr CellSlope one = CellSlope::One, minus = CellSlope::MinusOne;
  attach<arith::AddFOp, kSimple, one, one>(context);
  attach<arith::SubFOp, kSimple, one, minus>(context);
  attach<arith::NegFOp, kSimple, minus>(context);
  attach<arith::ExtFOp, kSimple, CellSlope::Constant>(context);
  attach<arith::TruncFOp, kSimple, CellSlope::Constant>(context);
  attach<arith::RemFOp, CellWork::Division>(context);
  attach<math::AbsFOp, kSimple>(context);
  attach<math::FmaOp, kSimple>(context);
  arith::MulFOp::attachInterface<Product>(*context);
  arith::DivFOp::attachInterface<Quotient>(*context);
  arith::SelectOp::attachInterface<Choice>(*context);
  arith::ConstantOp::attachInterface<Constant>(*context);
  vector::ExtractStridedSliceOp::attachInterface<ExtractSlice>(*context);
  vector::InsertStridedSliceOp::attachInterface<InsertSlice>(*context);
  attachToRest<kSimple>(context, "arith");
  attachToRest<CellWork::Special>(context, "math");
  attachToRest<kSimple>(context, "vector");
}

//===- ArithVJP.cpp - differentiation rules of arith ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseVJP.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

Value bppsa::createFloat(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return ConstantOp::create(builder, loc, attr);
}

static Value addVJP(AddFOp op, unsigned operand, Value g, OpBuilder &b) { return g; }

static Value subVJP(SubFOp op, unsigned operand, Value g, OpBuilder &b) {
  return operand == 0 ? g : NegFOp::create(b, op.getLoc(), g).getResult();
}

static Value mulVJP(MulFOp op, unsigned operand, Value g, OpBuilder &b) {
  return MulFOp::create(b, op.getLoc(), g, op->getOperand(1 - operand));
}

/// `d(a / b) = da / b - (a / b) db / b`.
static Value divVJP(DivFOp op, unsigned operand, Value g, OpBuilder &b) {
  Value quotient = DivFOp::create(b, op.getLoc(), g, op.getRhs());
  if (operand == 0)
    return quotient;
  Value scaled = MulFOp::create(b, op.getLoc(), quotient, op.getResult());
  return NegFOp::create(b, op.getLoc(), scaled);
}

/// `a mod b = a - b trunc(a / b)`.
static Value remVJP(RemFOp op, unsigned operand, Value g, OpBuilder &b) {
  if (operand == 0)
    return g;
  Value whole = SubFOp::create(b, op.getLoc(), op.getLhs(), op.getResult());
  Value quotient = DivFOp::create(b, op.getLoc(), whole, op.getRhs());
  return NegFOp::create(b, op.getLoc(), MulFOp::create(b, op.getLoc(), g, quotient));
}

static Value negVJP(NegFOp op, unsigned operand, Value g, OpBuilder &b) {
  return NegFOp::create(b, op.getLoc(), g);
}

/// The cotangent goes to the operand that was chosen. Two variable operands
/// that are equal get half of it each. At equality with a constant (a clamp, a
/// rectifier) the operand gets nothing, which the result alone tells.
template <typename OpTy, CmpFPredicate wins>
static Value extremumVJP(OpTy op, unsigned operand, Value g, OpBuilder &b) {
  Location loc = op.getLoc();
  Value self = op->getOperand(operand), other = op->getOperand(1 - operand);
  Value zero = createFloat(b, loc, g.getType(), 0);
  if (matchPattern(other, m_Constant())) {
    Value chosen = CmpFOp::create(b, loc, wins, op.getResult(), other);
    return SelectOp::create(b, loc, chosen, g, zero);
  }
  Value half = MulFOp::create(b, loc, g, createFloat(b, loc, g.getType(), 0.5));
  Value equal = CmpFOp::create(b, loc, CmpFPredicate::OEQ, self, other);
  Value shared = SelectOp::create(b, loc, equal, half, zero);
  Value chosen = CmpFOp::create(b, loc, wins, self, other);
  return SelectOp::create(b, loc, chosen, g, shared);
}

static Value selectVJP(SelectOp op, unsigned operand, Value g, OpBuilder &b) {
  Value zero = createFloat(b, op.getLoc(), g.getType(), 0);
  return SelectOp::create(b, op.getLoc(), op.getCondition(), operand == 1 ? g : zero,
                          operand == 1 ? zero : g);
}

static Value extVJP(ExtFOp op, unsigned operand, Value g, OpBuilder &b) {
  return TruncFOp::create(b, op.getLoc(), op.getIn().getType(), g);
}

static Value truncVJP(TruncFOp op, unsigned operand, Value g, OpBuilder &b) {
  return ExtFOp::create(b, op.getLoc(), op.getIn().getType(), g);
}

template <typename OpTy, CmpFPredicate wins> static void attachExtremum(MLIRContext *context) {
  OpTy::template attachInterface<ElementwiseVJP<OpTy, extremumVJP<OpTy, wins>>>(*context);
}

void bppsa::registerArithVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArithDialect *) {
    AddFOp::attachInterface<ElementwiseVJP<AddFOp, addVJP>>(*context);
    SubFOp::attachInterface<ElementwiseVJP<SubFOp, subVJP>>(*context);
    MulFOp::attachInterface<ElementwiseVJP<MulFOp, mulVJP>>(*context);
    DivFOp::attachInterface<ElementwiseVJP<DivFOp, divVJP>>(*context);
    RemFOp::attachInterface<ElementwiseVJP<RemFOp, remVJP>>(*context);
    NegFOp::attachInterface<ElementwiseVJP<NegFOp, negVJP>>(*context);
    attachExtremum<MaximumFOp, CmpFPredicate::OGT>(context);
    attachExtremum<MaxNumFOp, CmpFPredicate::OGT>(context);
    attachExtremum<MinimumFOp, CmpFPredicate::OLT>(context);
    attachExtremum<MinNumFOp, CmpFPredicate::OLT>(context);
    SelectOp::attachInterface<ElementwiseVJP<SelectOp, selectVJP>>(*context);
    ExtFOp::attachInterface<ElementwiseVJP<ExtFOp, extVJP>>(*context);
    TruncFOp::attachInterface<ElementwiseVJP<TruncFOp, truncVJP>>(*context);
  });
}

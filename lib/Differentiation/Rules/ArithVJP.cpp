//===- ArithVJP.cpp - VJPs of arith ops -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseVJP.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>

using namespace mlir;
using namespace mlir::arith;
using namespace bppsa;

Value bppsa::createFloat(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attr = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return ConstantOp::create(builder, loc, attr);
}

Value bppsa::zeroUnlessFinite(OpBuilder &b, Location loc, Value factor, Value cotangent) {
  Value infinity = createFloat(b, loc, factor.getType(), std::numeric_limits<double>::infinity());
  Value magnitude = math::AbsFOp::create(b, loc, factor);
  Value isFinite = CmpFOp::create(b, loc, CmpFPredicate::OLT, magnitude, infinity);
  Value zero = createFloat(b, loc, cotangent.getType(), 0);
  return SelectOp::create(b, loc, isFinite, cotangent, zero);
}

Value bppsa::zeroAtPole(OpBuilder &b, Location loc, Value x, double pole, Value cotangent) {
  Value constant = createFloat(b, loc, x.getType(), pole);
  Value isRegular = CmpFOp::create(b, loc, CmpFPredicate::ONE, x, constant);
  Value zero = createFloat(b, loc, cotangent.getType(), 0);
  return SelectOp::create(b, loc, isRegular, cotangent, zero);
}

static bool isConstantFloat(Value value, APFloat &constant) {
  return matchPattern(value, m_ConstantFloat(&constant));
}

/// Returns whether a logarithm, a reciprocal square root or an infinite constant is involved.
static bool comesFromInfinity(Value value, unsigned depth = 8) {
  APFloat constant(0.0f);
  if (isConstantFloat(value, constant))
    return !constant.isFinite();
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<math::LogOp, math::Log1pOp, math::RsqrtOp>(op))
    return true;
  if (!isa<AddFOp, SubFOp, MulFOp, NegFOp, SelectOp, MaximumFOp, MinimumFOp, MaxNumFOp, MinNumFOp,
           math::AbsFOp>(op))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<FloatType>(getElementTypeOrSelf(operand)) && comesFromInfinity(operand, depth - 1);
  });
}

static bool isSummand(MulFOp product) {
  return product->hasOneUse() && isa<AddFOp>(*product->user_begin()) &&
         llvm::any_of((*product->user_begin())->getOperands(), llvm::IsaPred<BlockArgument>);
}

/// Returns whether a product with `factor` needs a guard. Bodies of linalg ops are memory-bound, so
/// a guard is cheap; cells get one only if the factor may be infinite.
static bool mayBeInfinite(MulFOp product, Value factor) {
  APFloat constant(0.0f);
  if (isConstantFloat(factor, constant))
    return !constant.isFinite();
  if (isa<VectorType>(factor.getType()))
    return comesFromInfinity(factor);
  return !isSummand(product) && !isa_and_nonnull<math::TanhOp, SigmoidOp>(factor.getDefiningOp());
}

static Value addVJP(AddFOp op, unsigned operand, Value g, OpBuilder &b) { return g; }

static Value subVJP(SubFOp op, unsigned operand, Value g, OpBuilder &b) {
  return operand == 0 ? g : NegFOp::create(b, op.getLoc(), g).getResult();
}

static Value mulVJP(MulFOp op, unsigned operand, Value g, OpBuilder &b) {
  Value factor = op->getOperand(1 - operand);
  Value product = MulFOp::create(b, op.getLoc(), g, factor);
  return mayBeInfinite(op, factor) ? zeroUnlessFinite(b, op.getLoc(), factor, product) : product;
}

static Value divVJP(DivFOp op, unsigned operand, Value g, OpBuilder &b) {
  Value quotient = DivFOp::create(b, op.getLoc(), g, op.getRhs());
  APFloat divisor(0.0f);
  bool isFinite = bitEnumContainsAll(op.getFastmath(), FastMathFlags::ninf);
  bool hasPole = !isFinite && (!isConstantFloat(op.getRhs(), divisor) || divisor.isZero());
  if (operand == 0)
    return hasPole ? zeroAtPole(b, op.getLoc(), op.getRhs(), 0, quotient) : quotient;
  Value scaled = MulFOp::create(b, op.getLoc(), quotient, op.getResult());
  Value negated = NegFOp::create(b, op.getLoc(), scaled);
  return isFinite ? negated : zeroUnlessFinite(b, op.getLoc(), op.getResult(), negated);
}

static Value remVJP(RemFOp op, unsigned operand, Value g, OpBuilder &b) {
  if (operand == 0)
    return g;
  Value whole = SubFOp::create(b, op.getLoc(), op.getLhs(), op.getResult());
  Value quotient = DivFOp::create(b, op.getLoc(), whole, op.getRhs());
  Value negated = NegFOp::create(b, op.getLoc(), MulFOp::create(b, op.getLoc(), g, quotient));
  return zeroUnlessFinite(b, op.getLoc(), quotient, negated);
}

static Value negVJP(NegFOp op, unsigned operand, Value g, OpBuilder &b) {
  return NegFOp::create(b, op.getLoc(), g);
}

/// Two equal operands share the cotangent. An operand equal to a constant (a rectifier) gets zero,
/// so the result suffices to decide.
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

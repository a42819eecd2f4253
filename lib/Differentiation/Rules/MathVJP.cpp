//===- MathVJP.cpp - VJPs of math ops -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseVJP.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::math;
using namespace bppsa;

namespace {
struct Arithmetic {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(double value) const { return createFloat(builder, loc, type, value); }
  Value add(Value a, Value b) const { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) const { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) const { return arith::DivFOp::create(builder, loc, a, b); }
  Value neg(Value a) const { return arith::NegFOp::create(builder, loc, a); }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
};
} // namespace

static Value multiplyByInfinity(const Arithmetic &a, Value g) {
  Value largest = a.constant(std::numeric_limits<float>::max());
  return a.mul(a.mul(g, largest), largest);
}

static Arithmetic arithmetic(Operation *op, OpBuilder &b) {
  return {b, op->getLoc(), op->getResult(0).getType()};
}

static Value tanhVJP(TanhOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  return a.mul(g, a.sub(a.constant(1), a.mul(op.getResult(), op.getResult())));
}

/// The derivative is zero if the result overflows. A scalar exponent that is a difference is not
/// checked: losses shift exponents by their maximum.
static Value expVJP(ExpOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value product = a.mul(g, op.getResult());
  if (!isa<VectorType>(g.getType()) && op.getOperand().getDefiningOp<arith::SubFOp>())
    return product;
  Value infinity = a.constant(std::numeric_limits<double>::infinity());
  Value isFinite = a.compare(arith::CmpFPredicate::OLT, op.getResult(), infinity);
  return a.select(isFinite, product, a.constant(0));
}

static Value expm1VJP(ExpM1Op op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value product = a.mul(g, a.add(op.getResult(), a.constant(1)));
  return zeroUnlessFinite(b, op.getLoc(), op.getResult(), product);
}

static Value logVJP(LogOp op, unsigned, Value g, OpBuilder &b) {
  Value quotient = arithmetic(op, b).div(g, op.getOperand());
  return zeroAtPole(b, op.getLoc(), op.getOperand(), 0, quotient);
}

static Value log1pVJP(Log1pOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value quotient = a.div(g, a.add(op.getOperand(), a.constant(1)));
  return zeroAtPole(b, op.getLoc(), op.getOperand(), -1, quotient);
}

static Value sqrtVJP(SqrtOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value quotient = a.div(a.mul(g, a.constant(0.5)), op.getResult());
  Value isZero = a.compare(arith::CmpFPredicate::OEQ, op.getResult(), a.constant(0));
  return a.select(isZero, multiplyByInfinity(a, g), quotient);
}

static Value rsqrtVJP(RsqrtOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value scaled = a.mul(a.mul(g, a.constant(-0.5)), op.getResult());
  return zeroAtPole(b, op.getLoc(), op.getOperand(), 0, a.div(scaled, op.getOperand()));
}

static Value absVJP(AbsFOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value zero = a.constant(0);
  Value positive = a.compare(arith::CmpFPredicate::OGT, op.getOperand(), zero);
  Value negative = a.compare(arith::CmpFPredicate::OLT, op.getOperand(), zero);
  return a.select(positive, g, a.select(negative, a.neg(g), zero));
}

static Value erfVJP(ErfOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value square = a.neg(a.mul(op.getOperand(), op.getOperand()));
  Value gauss = ExpOp::create(b, op.getLoc(), square);
  return a.mul(a.mul(g, a.constant(2 * llvm::numbers::inv_sqrtpi)), gauss);
}

static Value sinVJP(SinOp op, unsigned, Value g, OpBuilder &b) {
  Value product = arithmetic(op, b).mul(g, CosOp::create(b, op.getLoc(), op.getOperand()));
  return zeroUnlessFinite(b, op.getLoc(), op.getOperand(), product);
}

static Value cosVJP(CosOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  Value product = a.neg(a.mul(g, SinOp::create(b, op.getLoc(), op.getOperand())));
  return zeroUnlessFinite(b, op.getLoc(), op.getOperand(), product);
}

static Value atanVJP(AtanOp op, unsigned, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  return a.div(g, a.add(a.constant(1), a.mul(op.getOperand(), op.getOperand())));
}

template <typename OpTy> static Value stepVJP(OpTy, unsigned, Value, OpBuilder &) { return {}; }

/// `y x^(y-1) g`. If x^(y-1) is infinite and x^y is finite, the slope is infinite.
static Value powBaseVJP(PowFOp op, Value g, OpBuilder &b) {
  Arithmetic a = arithmetic(op, b);
  APFloat exponent(0.0f);
  bool isConstant = matchPattern(op.getRhs(), m_ConstantFloat(&exponent));
  Value scaled = a.mul(g, op.getRhs());
  if (isConstant && exponent.convertToDouble() == 2.0) {
    Value product = a.mul(scaled, op.getLhs());
    return isa<VectorType>(g.getType()) ? product
                                        : zeroUnlessFinite(b, op.getLoc(), op.getLhs(), product);
  }
  Value power = PowFOp::create(b, op.getLoc(), op.getLhs(), a.sub(op.getRhs(), a.constant(1)));
  Value product = a.mul(scaled, power);
  if (isConstant && exponent.convertToDouble() >= 1.0)
    return zeroUnlessFinite(b, op.getLoc(), power, product);
  Value steep = zeroUnlessFinite(b, op.getLoc(), op.getResult(), multiplyByInfinity(a, scaled));
  Value isInfinite = a.compare(arith::CmpFPredicate::OEQ, AbsFOp::create(b, op.getLoc(), power),
                               a.constant(std::numeric_limits<double>::infinity()));
  return a.select(isInfinite, steep, product);
}

/// `d(x^y) = y x^(y-1) dx + x^y log(x) dy`. At x = 0 the derivative with respect to y is zero.
static Value powVJP(PowFOp op, unsigned operand, Value g, OpBuilder &b) {
  if (operand == 0)
    return powBaseVJP(op, g, b);
  Arithmetic a = arithmetic(op, b);
  Value zero = a.constant(0);
  Value isZero = a.compare(arith::CmpFPredicate::OEQ, op.getLhs(), zero);
  Value log = LogOp::create(b, op.getLoc(), a.select(isZero, a.constant(1), op.getLhs()));
  Value product = a.mul(a.mul(g, op.getResult()), log);
  Value infinity = a.constant(std::numeric_limits<double>::infinity());
  Value isInfinite = a.compare(arith::CmpFPredicate::OEQ, op.getResult(), infinity);
  Value isUnbounded = a.compare(arith::CmpFPredicate::OEQ, op.getLhs(), infinity);
  return a.select(isInfinite, zero, a.select(isUnbounded, zero, product));
}

void bppsa::registerMathVJP(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MathDialect *) {
    AbsFOp::attachInterface<ElementwiseVJP<AbsFOp, absVJP>>(*context);
    AtanOp::attachInterface<ElementwiseVJP<AtanOp, atanVJP>>(*context);
    CeilOp::attachInterface<ElementwiseVJP<CeilOp, stepVJP<CeilOp>>>(*context);
    CosOp::attachInterface<ElementwiseVJP<CosOp, cosVJP>>(*context);
    ErfOp::attachInterface<ElementwiseVJP<ErfOp, erfVJP>>(*context);
    ExpM1Op::attachInterface<ElementwiseVJP<ExpM1Op, expm1VJP>>(*context);
    ExpOp::attachInterface<ElementwiseVJP<ExpOp, expVJP>>(*context);
    FloorOp::attachInterface<ElementwiseVJP<FloorOp, stepVJP<FloorOp>>>(*context);
    Log1pOp::attachInterface<ElementwiseVJP<Log1pOp, log1pVJP>>(*context);
    LogOp::attachInterface<ElementwiseVJP<LogOp, logVJP>>(*context);
    PowFOp::attachInterface<ElementwiseVJP<PowFOp, powVJP>>(*context);
    RoundEvenOp::attachInterface<ElementwiseVJP<RoundEvenOp, stepVJP<RoundEvenOp>>>(*context);
    RsqrtOp::attachInterface<ElementwiseVJP<RsqrtOp, rsqrtVJP>>(*context);
    SinOp::attachInterface<ElementwiseVJP<SinOp, sinVJP>>(*context);
    SqrtOp::attachInterface<ElementwiseVJP<SqrtOp, sqrtVJP>>(*context);
    TruncOp::attachInterface<ElementwiseVJP<TruncOp, stepVJP<TruncOp>>>(*context);
    TanhOp::attachInterface<ElementwiseVJP<TanhOp, tanhVJP>>(*context);
  });
}

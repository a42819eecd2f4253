//===- Formula.cpp - formulas of scalars and vectors ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

Value Formula::constant(double value) const {
  TypedAttr attribute = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

Value Formula::add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }

Value Formula::sub(Value x, Value y) const { return arith::SubFOp::create(b, loc, x, y); }

Value Formula::mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }

Value Formula::div(Value x, Value y) const { return arith::DivFOp::create(b, loc, x, y); }

Value Formula::divFinite(Value x, Value y) const {
  return arith::DivFOp::create(b, loc, x, y, arith::FastMathFlags::ninf);
}

Value Formula::max(Value x, double y) const {
  return arith::MaximumFOp::create(b, loc, x, constant(y));
}

Value Formula::min(Value x, double y) const {
  return arith::MinimumFOp::create(b, loc, x, constant(y));
}

Value Formula::abs(Value x) const { return math::AbsFOp::create(b, loc, x); }

Value Formula::compare(arith::CmpFPredicate predicate, Value x, double y) const {
  return arith::CmpFOp::create(b, loc, predicate, x, constant(y));
}

Value Formula::isPositive(Value x) const { return compare(arith::CmpFPredicate::OGT, x, 0); }

Value Formula::select(Value condition, Value x, Value y) const {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

Value Formula::elu(Value x, double alpha) const {
  Value positive = isPositive(x), negative = select(positive, constant(0), x);
  Value exponential = add(math::ExpOp::create(b, loc, negative), constant(-1));
  return select(positive, x, mul(exponential, constant(alpha)));
}

Value Formula::celu(Value x, double alpha) const {
  Value positive = isPositive(x), negative = select(positive, constant(0), x);
  Value scaled = div(negative, constant(alpha));
  Value exponential = add(math::ExpOp::create(b, loc, scaled), constant(-1));
  return select(positive, x, mul(exponential, constant(alpha)));
}

Value Formula::hardSigmoid(Value x, double alpha, double beta) const {
  return max(min(add(mul(x, constant(alpha)), constant(beta)), 1), 0);
}

Value Formula::leakyRelu(Value x, double alpha) const {
  return select(isPositive(x), x, mul(x, constant(alpha)));
}

Value Formula::thresholdedRelu(Value x, double alpha) const {
  return select(compare(arith::CmpFPredicate::OGT, x, alpha), x, constant(0));
}

Value Formula::softplus(Value x) const {
  // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
  Value small = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, abs(x)));
  return add(max(x, 0), math::Log1pOp::create(b, loc, small));
}

Value Formula::softsign(Value x) const { return div(x, add(abs(x), constant(1))); }

Value Formula::tanh(Value x) const { return math::TanhOp::create(b, loc, x); }

Value Formula::sigmoid(Value x) const { return SigmoidOp::create(b, loc, x); }

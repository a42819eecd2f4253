//===- Activations.cpp - nonlinear functions with parameters --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Formulas that hold in one branch only are evaluated at a harmless place in the
// other one: a cotangent of zero times an infinite slope would be no number.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "OpImporters.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace bppsa;

namespace {
/// Makes the scalar ops of one body.
struct Formula {
  OpBuilder &b;
  Location loc;

  Value constant(double value) const {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value add(Value x, Value y) const { return arith::AddFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, loc, x, y); }
  Value max(Value x, double y) const { return arith::MaximumFOp::create(b, loc, x, constant(y)); }
  Value min(Value x, double y) const { return arith::MinimumFOp::create(b, loc, x, constant(y)); }
  Value isPositive(Value x) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, constant(0));
  }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};
} // namespace

/// The only output is `function` of every element of the first input.
static LogicalResult setElementwise(Node &node,
                                    function_ref<Value(const Formula &, Value)> function) {
  const Tensor &x = node.input(0);
  return node.setOutput(node.graph.makeElementwise(
      x, x.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        return function(Formula{b, loc}, arguments[0]);
      }));
}

/// x where it is positive, else alpha (e^x - 1).
static Value makeElu(const Formula &f, Value x, double alpha) {
  Value isPositive = f.isPositive(x);
  Value negative = f.select(isPositive, f.constant(0), x);
  Value exponential = f.add(math::ExpOp::create(f.b, f.loc, negative), f.constant(-1));
  return f.select(isPositive, x, f.mul(exponential, f.constant(alpha)));
}

static Value makeHardSigmoid(const Formula &f, Value x, double alpha, double beta) {
  return f.max(f.min(f.add(f.mul(x, f.constant(alpha)), f.constant(beta)), 1), 0);
}

LogicalResult bppsa::importLeakyRelu(Node &node) {
  double alpha = node.getFloat("alpha", 0.01f);
  return setElementwise(node, [&](const Formula &f, Value x) {
    return f.select(f.isPositive(x), x, f.mul(x, f.constant(alpha)));
  });
}

LogicalResult bppsa::importElu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return setElementwise(node, [&](const Formula &f, Value x) { return makeElu(f, x, alpha); });
}

LogicalResult bppsa::importSelu(Node &node) {
  double alpha = node.getFloat("alpha", 1.67326319217681884765625f);
  double gamma = node.getFloat("gamma", 1.05070102214813232421875f);
  return setElementwise(node, [&](const Formula &f, Value x) {
    return f.mul(makeElu(f, x, alpha), f.constant(gamma));
  });
}

LogicalResult bppsa::importHardSigmoid(Node &node) {
  double alpha = node.getFloat("alpha", 0.2f), beta = node.getFloat("beta", 0.5f);
  return setElementwise(
      node, [&](const Formula &f, Value x) { return makeHardSigmoid(f, x, alpha, beta); });
}

LogicalResult bppsa::importHardSwish(Node &node) {
  return setElementwise(node, [](const Formula &f, Value x) {
    return f.mul(x, makeHardSigmoid(f, x, 1.0 / 6, 0.5));
  });
}

LogicalResult bppsa::importGelu(Node &node) {
  bool isTanh = node.getString("approximate", "none") == "tanh";
  return setElementwise(node, [&](const Formula &f, Value x) {
    double root = isTanh ? std::sqrt(2 * llvm::numbers::inv_pi) : llvm::numbers::sqrt2 / 2;
    Value bent = x;
    if (isTanh)
      bent = f.add(x, f.mul(f.mul(x, f.mul(x, x)), f.constant(0.044715)));
    Value scaled = f.mul(bent, f.constant(root));
    Value sign = isTanh ? math::TanhOp::create(f.b, f.loc, scaled).getResult()
                        : math::ErfOp::create(f.b, f.loc, scaled).getResult();
    return f.mul(f.mul(x, f.constant(0.5)), f.add(sign, f.constant(1)));
  });
}

LogicalResult bppsa::importSoftplus(Node &node) {
  // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
  return setElementwise(node, [](const Formula &f, Value x) -> Value {
    Value magnitude = math::AbsFOp::create(f.b, f.loc, x);
    Value small = math::ExpOp::create(f.b, f.loc, arith::NegFOp::create(f.b, f.loc, magnitude));
    return f.add(f.max(x, 0), math::Log1pOp::create(f.b, f.loc, small));
  });
}

LogicalResult bppsa::importPRelu(Node &node) {
  const Tensor &x = node.input(0), &slope = node.input(1);
  FailureOr<Tensor> result = node.graph.makeElementwise(
      {x, slope}, x.elementType, [](OpBuilder &b, Location loc, ValueRange arguments) {
        Formula f{b, loc};
        Value negative = f.mul(arguments[0], arguments[1]);
        return f.select(f.isPositive(arguments[0]), arguments[0], negative);
      });
  // The slope must broadcast to X, not the other way round.
  if (failed(result) || result->getSizes() != x.getSizes())
    return node.emitShapeError();
  return node.setOutput(0, *result);
}

LogicalResult bppsa::importClip(Node &node) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  FailureOr<double> low = node.getSetting("min", 1, -infinity);
  FailureOr<double> high = node.getSetting("max", 2, infinity);
  if (failed(low) || failed(high))
    return failure();
  return setElementwise(node, [&](const Formula &f, Value x) {
    Value result = *low == -infinity ? x : f.max(x, *low);
    return *high == infinity ? result : f.min(result, *high);
  });
}

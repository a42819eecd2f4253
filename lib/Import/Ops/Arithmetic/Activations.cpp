//===- Activations.cpp - activation functions -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Formula.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace bppsa;

static LogicalResult setElementwise(Node &node,
                                    function_ref<Value(const Formula &, Value)> function) {
  const Tensor &x = node.input(0);
  return node.setOutput(node.graph.makeElementwise(
      x, x.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        return function(Formula{b, loc, x.elementType}, arguments[0]);
      }));
}

LogicalResult bppsa::importLeakyRelu(Node &node) {
  double alpha = node.getFloat("alpha", 0.01f);
  return setElementwise(node, [&](const Formula &f, Value x) { return f.leakyRelu(x, alpha); });
}

LogicalResult bppsa::importElu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return setElementwise(node, [&](const Formula &f, Value x) { return f.elu(x, alpha); });
}

LogicalResult bppsa::importSelu(Node &node) {
  double alpha = node.getFloat("alpha", 1.67326319217681884765625f);
  double gamma = node.getFloat("gamma", 1.05070102214813232421875f);
  return setElementwise(
      node, [&](const Formula &f, Value x) { return f.mul(f.elu(x, alpha), f.constant(gamma)); });
}

LogicalResult bppsa::importHardSigmoid(Node &node) {
  double alpha = node.getFloat("alpha", 0.2f), beta = node.getFloat("beta", 0.5f);
  return setElementwise(node,
                        [&](const Formula &f, Value x) { return f.hardSigmoid(x, alpha, beta); });
}

LogicalResult bppsa::importHardSwish(Node &node) {
  return setElementwise(
      node, [](const Formula &f, Value x) { return f.mul(x, f.hardSigmoid(x, 1.0 / 6, 0.5)); });
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
  return setElementwise(node, [](const Formula &f, Value x) { return f.softplus(x); });
}

LogicalResult bppsa::importPRelu(Node &node) {
  const Tensor &x = node.input(0), &slope = node.input(1);
  FailureOr<Tensor> result = node.graph.makeElementwise(
      {x, slope}, x.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Formula f{b, loc, x.elementType};
        Value negative = f.mul(arguments[0], arguments[1]);
        return f.select(f.isPositive(arguments[0]), arguments[0], negative);
      });
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

LogicalResult bppsa::importCelu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  if (alpha == 0)
    return node.emitError() << "attribute 'alpha' is 0, accepted: any other float";
  return setElementwise(node, [&](const Formula &f, Value x) { return f.celu(x, alpha); });
}

LogicalResult bppsa::importMish(Node &node) {
  return setElementwise(node,
                        [](const Formula &f, Value x) { return f.mul(x, f.tanh(f.softplus(x))); });
}

LogicalResult bppsa::importSoftsign(Node &node) {
  return setElementwise(node, [](const Formula &f, Value x) { return f.softsign(x); });
}

LogicalResult bppsa::importSwish(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return setElementwise(node, [&](const Formula &f, Value x) {
    return f.mul(x, f.sigmoid(f.mul(x, f.constant(alpha))));
  });
}

LogicalResult bppsa::importSwiGLU(Node &node) {
  const Tensor &gate = node.input(0), &x = node.input(1);
  if (gate.getRank() != x.getRank())
    return node.emitShapeError();
  for (auto [a, b] : llvm::zip_equal(gate.dims, x.dims))
    if (failed(node.graph.unify(a, b)))
      return node.emitShapeError();
  double alpha = node.getFloat("alpha", 1);
  return node.setOutput(node.graph.makeElementwise(
      {gate, x}, x.elementType, [&](OpBuilder &b, Location loc, ValueRange in) {
        Formula f{b, loc, x.elementType};
        return f.mul(f.mul(in[0], f.sigmoid(f.mul(in[0], f.constant(alpha)))), in[1]);
      }));
}

LogicalResult bppsa::importThresholdedRelu(Node &node) {
  double alpha = node.getFloat("alpha", 1);
  return setElementwise(node,
                        [&](const Formula &f, Value x) { return f.thresholdedRelu(x, alpha); });
}

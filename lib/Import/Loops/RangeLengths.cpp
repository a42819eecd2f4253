//===- RangeLengths.cpp - trip counts of Python ranges --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// TorchScript's exporter computes the length of `range(start, end, step)` in float:
// Cast(Ceil(Div(Cast(end - start), Cast(step)))).
//
//===----------------------------------------------------------------------===//

#include "StepIndices.h"

using namespace mlir;
using namespace bppsa;

static const onnx::NodeProto *findNode(const onnx::GraphProto &graph, StringRef name,
                                       StringRef op) {
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == op && node.output_size() == 1 && node.output(0) == name && findRule(node))
      return &node;
  return nullptr;
}

static const Tensor *lookup(Node &node, StringRef name) {
  return node.scope.lookup(name).value_or(nullptr);
}

static MaybeExpr findCastInteger(Node &node, StringRef name) {
  const onnx::NodeProto *cast = findNode(node.parent, name, "Cast");
  const Tensor *tensor = cast && cast->input_size() == 1 ? lookup(node, cast->input(0)) : nullptr;
  if (!tensor || !tensor->elements || tensor->elements->size() != 1)
    return std::nullopt;
  return tensor->elements->front();
}

static std::optional<int64_t> findStep(Node &node, StringRef name) {
  if (MaybeExpr expr = findCastInteger(node, name))
    return getConstant(*expr);
  const Tensor *tensor = lookup(node, name);
  std::optional<double> value = tensor ? getSplatConstant(*tensor) : std::nullopt;
  constexpr double largest = 1 << 24;
  bool isInteger = value && std::abs(*value) <= largest && std::trunc(*value) == *value;
  return isInteger ? std::optional<int64_t>(*value) : std::nullopt;
}

MaybeExpr bppsa::findRangeLength(Node &node, StringRef name) {
  const onnx::NodeProto *cast = findNode(node.parent, name, "Cast");
  const onnx::NodeProto *ceil = cast ? findNode(node.parent, cast->input(0), "Ceil") : nullptr;
  const onnx::NodeProto *quotient = ceil ? findNode(node.parent, ceil->input(0), "Div") : nullptr;
  if (!quotient || quotient->input_size() != 2)
    return std::nullopt;
  MaybeExpr span = findCastInteger(node, quotient->input(0));
  std::optional<int64_t> constant = findStep(node, quotient->input(1));
  GraphBuilder &graph = node.graph;
  if (!span || !constant || *constant == 0)
    return std::nullopt;
  MaybeExpr length = multiplyExprs(*span, graph.getExpr(*constant < 0 ? -1 : 1));
  int64_t distance = std::abs(*constant);
  MaybeExpr rounded = length ? addExprs(*length, graph.getExpr(distance - 1)) : std::nullopt;
  return rounded ? divideExprs(*rounded, graph.getExpr(distance), graph.minSizes) : std::nullopt;
}

//===- StepIndices.cpp - indices from iteration numbers -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepIndices.h"
#include "../Sequences/TensorList.h"

using namespace mlir;
using namespace bppsa;

AffineIndexAnalysis::AffineIndexAnalysis(Node &node, const onnx::GraphProto &body)
    : node(node), body(body) {
  for (const onnx::ValueInfoProto &input : body.input())
    inner.insert(input.name());
  for (const onnx::TensorProto &tensor : body.initializer())
    inner.insert(tensor.name());
  for (const onnx::NodeProto &producer : body.node())
    for (const std::string &output : producer.output()) {
      inner.insert(output);
      producers[output] = &producer;
    }
}

std::optional<StepIndex> AffineIndexAnalysis::find(StringRef name) {
  if (auto it = found.find(name); it != found.end())
    return it->second;
  // Ends cycles: a recursive lookup of `name` returns nullopt.
  found[name] = std::nullopt;
  std::optional<StepIndex> index = compute(name);
  found[name] = index;
  return index;
}

std::optional<StepIndex> AffineIndexAnalysis::decode(const onnx::TensorProto &tensor) {
  bool isInteger = tensor.data_type() == onnx::TensorProto::INT64 ||
                   tensor.data_type() == onnx::TensorProto::INT32;
  if (!isInteger || tensor.dims_size() > 1)
    return std::nullopt;
  FailureOr<DenseElementsAttr> constant =
      decodeTensor(node.file, tensor, "initializer " + quoted(tensor.name()));
  if (failed(constant) || constant->getNumElements() != 1)
    return std::nullopt;
  return StepIndex{node.graph.getExpr(constant->getValues<APInt>()[0].getSExtValue()), 0,
                   tensor.dims_size()};
}

std::optional<StepIndex> AffineIndexAnalysis::readOuter(StringRef name) {
  FailureOr<const Tensor *> tensor = node.scope.lookup(name);
  if (failed(tensor) || !*tensor || !(*tensor)->elements || (*tensor)->elements->size() != 1 ||
      (*tensor)->getRank() > 1 || (*tensor)->elementType.isInteger(1))
    return std::nullopt;
  return StepIndex{(*tensor)->elements->front(), 0, (*tensor)->getRank()};
}

std::optional<StepIndex> AffineIndexAnalysis::compute(StringRef name) {
  const onnx::ValueInfoProto &number = body.input(0);
  if (name == number.name())
    return StepIndex{node.graph.getExpr(0), 1,
                     std::min(number.type().tensor_type().shape().dim_size(), 1)};
  for (const onnx::TensorProto &tensor : body.initializer())
    if (tensor.name() == name)
      return decode(tensor);
  if (auto it = producers.find(name); it != producers.end())
    return compute(*it->second);
  return isInner(name) ? std::nullopt : readOuter(name);
}

std::optional<StepIndex> AffineIndexAnalysis::combine(StringRef op, const StepIndex &a,
                                                      const StepIndex &b) {
  int64_t rank = std::max(a.rank, b.rank);
  if (op == "Mul") {
    const StepIndex &factor = a.coefficient == 0 ? a : b, &other = a.coefficient == 0 ? b : a;
    std::optional<int64_t> constant = getConstant(factor.offset);
    MaybeExpr offset = multiplyExprs(a.offset, b.offset);
    if (factor.coefficient != 0 || !constant || !offset)
      return std::nullopt;
    return StepIndex{*offset, other.coefficient * *constant, rank};
  }
  bool isSum = op == "Add";
  MaybeExpr offset = isSum ? addExprs(a.offset, b.offset) : subtractExprs(a.offset, b.offset);
  if (!offset || (!isSum && op != "Sub"))
    return std::nullopt;
  return StepIndex{*offset, a.coefficient + (isSum ? b.coefficient : -b.coefficient), rank};
}

std::optional<StepIndex> AffineIndexAnalysis::compute(const onnx::NodeProto &producer) {
  StringRef op = producer.op_type();
  if (!findRule(producer) || producer.output_size() != 1)
    return std::nullopt;
  if (op == "Constant") {
    const onnx::AttributeProto *value =
        producer.attribute_size() == 1 ? &producer.attribute(0) : nullptr;
    if (value && value->name() == "value_int")
      return StepIndex{node.graph.getExpr(value->i()), 0, 0};
    return value && value->has_t() ? decode(value->t()) : std::nullopt;
  }
  if (producer.input_size() == 0)
    return std::nullopt;
  if (op == "SequenceLength" && !isInner(producer.input(0))) {
    FailureOr<const Tensor *> list = node.scope.lookup(producer.input(0));
    if (failed(list) || !*list || !(*list)->list)
      return std::nullopt;
    MaybeExpr length = (*list)->list->getLength(node.graph.getContext());
    return length ? std::optional(StepIndex{*length, 0, 0}) : std::nullopt;
  }
  std::optional<StepIndex> first;
  for (StringRef supported :
       {"Identity", "Cast", "Squeeze", "Unsqueeze", "Neg", "Add", "Sub", "Mul"})
    if (op == supported)
      first = find(producer.input(0));
  if (!first)
    return std::nullopt;
  if (op == "Squeeze" || op == "Unsqueeze") {
    if (first->rank != (op == "Squeeze" ? 1 : 0))
      return std::nullopt;
    first->rank = 1 - first->rank;
    return first;
  }
  if (op == "Cast") {
    int64_t type = producer.attribute_size() == 0 ? 0 : producer.attribute(0).i();
    bool isInteger = type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32;
    return isInteger ? first : std::nullopt;
  }
  if (op == "Identity")
    return first;
  if (op == "Neg")
    return combine("Sub", StepIndex{node.graph.getExpr(0), 0, first->rank}, *first);
  std::optional<StepIndex> second =
      producer.input_size() == 2 ? find(producer.input(1)) : std::nullopt;
  return second ? combine(op, *first, *second) : std::nullopt;
}

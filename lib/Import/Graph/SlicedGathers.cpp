//===- SlicedGathers.cpp - steps that pick slices of arrays ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SlicedGathers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::readsValue(const onnx::GraphProto &graph, StringRef name) {
  for (const onnx::NodeProto &node : graph.node()) {
    if (llvm::is_contained(node.input(), name.str()))
      return true;
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.type() == onnx::AttributeProto::GRAPH && readsValue(attribute.g(), name))
        return true;
  }
  return llvm::any_of(graph.output(),
                      [&](const onnx::ValueInfoProto &output) { return output.name() == name; });
}

/// Values that are the iteration number, with their rank.
static llvm::StringMap<int> findIterationNumbers(const onnx::GraphProto &body) {
  llvm::StringMap<int> ranks;
  const onnx::ValueInfoProto &number = body.input(0);
  ranks[number.name()] = number.type().tensor_type().shape().dim_size();
  for (const onnx::NodeProto &node : body.node()) {
    if (node.input_size() == 0 || node.output_size() != 1)
      continue;
    auto it = ranks.find(node.input(0));
    if (it == ranks.end())
      continue;
    bool keepsRank = node.op_type() == "Identity" || node.op_type() == "Cast";
    if (keepsRank)
      ranks.try_emplace(node.output(0), it->second);
    else if (node.op_type() == "Unsqueeze" && it->second == 0)
      ranks.try_emplace(node.output(0), 1);
    else if (node.op_type() == "Squeeze" && it->second == 1)
      ranks.try_emplace(node.output(0), 0);
  }
  return ranks;
}

/// Makes `node` a copy of `step`, with an axis of size 1 where the indices had one.
static void replaceGather(onnx::NodeProto &node, const std::string &step, int rank, int64_t axis,
                          int64_t opset, onnx::GraphProto &body) {
  node.clear_attribute();
  node.clear_input();
  node.add_input(step);
  node.set_op_type(rank == 0 ? "Identity" : "Unsqueeze");
  if (rank == 0)
    return;
  if (opset < 13) {
    onnx::AttributeProto &axes = *node.add_attribute();
    axes.set_name("axes");
    axes.set_type(onnx::AttributeProto::INTS);
    axes.add_ints(axis);
    return;
  }
  onnx::TensorProto &axes = *body.add_initializer();
  axes.set_name(step + "/axes");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(axis);
  node.add_input(axes.name());
}

FailureOr<SmallVector<LoopSequence>> bppsa::sliceGathers(Node &node, onnx::GraphProto &body,
                                                         AffineExpr steps) {
  SmallVector<LoopSequence> sequences;
  llvm::StringMap<int> numbers = findIterationNumbers(body);
  llvm::StringSet<> inner;
  for (const onnx::ValueInfoProto &input : body.input())
    inner.insert(input.name());
  for (const onnx::TensorProto &tensor : body.initializer())
    inner.insert(tensor.name());
  for (onnx::NodeProto &other : *body.mutable_node()) {
    inner.insert(other.output().begin(), other.output().end());
    if (other.op_type() != "Gather" || !other.domain().empty() || other.input_size() != 2 ||
        inner.contains(other.input(0)) || !numbers.contains(other.input(1)))
      continue;
    FailureOr<const Tensor *> data = node.scope.lookup(other.input(0));
    if (failed(data))
      return failure();
    int64_t axis = 0, rank = *data ? (*data)->getRank() : 0;
    for (const onnx::AttributeProto &attribute : other.attribute())
      if (attribute.name() == "axis")
        axis = attribute.i() < 0 ? attribute.i() + rank : attribute.i();
    if (axis < 0 || axis >= rank || (*data)->dims[axis].size != steps)
      continue;
    std::string name = other.output(0) + "/step";
    sequences.push_back({name, **data, axis});
    replaceGather(other, name, numbers[other.input(1)], axis, node.opset, body);
  }
  return sequences;
}

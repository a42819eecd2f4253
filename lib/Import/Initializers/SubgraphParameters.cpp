//===- SubgraphParameters.cpp - parameters in subgraphs -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SubgraphParameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace bppsa;

void bppsa::visitSubgraphs(const onnx::GraphProto &graph,
                           llvm::function_ref<void(const onnx::GraphProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node())
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g()) {
        visit(attribute.g());
        visitSubgraphs(attribute.g(), visit);
      }
}

llvm::StringSet<> bppsa::findInnerParameters(const onnx::ModelProto &model) {
  llvm::StringMap<int> definitions;
  llvm::StringSet<> found;
  auto count = [&](const onnx::GraphProto &graph) {
    for (const onnx::ValueInfoProto &input : graph.input())
      ++definitions[input.name()];
    for (const onnx::TensorProto &tensor : graph.initializer())
      ++definitions[tensor.name()];
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        ++definitions[output];
  };
  count(model.graph());
  visitSubgraphs(model.graph(), [&](const onnx::GraphProto &graph) {
    count(graph);
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (tensor.data_type() == onnx::TensorProto::FLOAT && !llvm::is_contained(tensor.dims(), 0))
        found.insert(tensor.name());
  });
  llvm::StringSet<> parameters;
  for (const auto &entry : found)
    if (!entry.getKey().empty() && definitions[entry.getKey()] == 1)
      parameters.insert(entry.getKey());
  return parameters;
}

//===- StreamLookups.cpp - hoist table lookups out of streams -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Model/ModelImporter.h"

using namespace mlir;
using namespace bppsa;

static bool isLookup(const onnx::NodeProto &node, StringRef indices,
                     const llvm::StringMap<unsigned> &parameters) {
  bool hasOtherAxis = llvm::any_of(node.attribute(), [](const onnx::AttributeProto &attribute) {
    return attribute.name() != "axis" || attribute.i() != 0;
  });
  return node.op_type() == "Gather" && node.domain().empty() && node.input_size() == 2 &&
         node.output_size() == 1 && !hasOtherAxis && node.input(1) == indices &&
         parameters.contains(node.input(0));
}

FailureOr<SmallVector<std::pair<std::string, Tensor>>>
ModelImporter::hoistLookups(onnx::GraphProto &body, StringRef name, const Tensor &sequence) {
  SmallVector<std::pair<std::string, Tensor>> found;
  onnx::GraphProto lookups;
  auto &list = *body.mutable_node();
  for (int i = 0; i < list.size();) {
    if (!isLookup(list[i], name, graph.parameterNumbers)) {
      ++i;
      continue;
    }
    *lookups.add_node() = list[i];
    list.DeleteSubrange(i, 1);
  }
  // In this scope, `name` refers to the indices of all steps and samples.
  Scope all(&scope);
  if (failed(nodes.define(all, name.str(), sequence)) || failed(nodes.importNodes(lookups, all)))
    return failure();
  for (const onnx::NodeProto &node : lookups.node()) {
    FailureOr<const Tensor *> rows = all.lookup(node.output(0));
    if (failed(rows))
      return failure();
    found.push_back({node.output(0), **rows});
  }
  return found;
}

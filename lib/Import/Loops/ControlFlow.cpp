//===- ControlFlow.cpp - If -----------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Model/Importer.h"
#include "../Ops/OpImporters.h"

using namespace mlir;
using namespace bppsa;

static FailureOr<bool> getCondition(const Node &node) {
  const Tensor &condition = node.input(0);
  std::string name = quoted(node.proto.input(0));
  if (condition.elements && condition.elements->size() != 1)
    return node.emitError() << "the condition " << name << " has " << condition.elements->size()
                            << " elements, accepted: 1";
  std::optional<int64_t> value;
  if (condition.elements)
    value = getConstant(condition.elements->front());
  if (!value)
    return node.emitError() << "the condition " << name
                            << " depends on data or on symbolic dimensions, accepted: a function "
                               "of constants, fixed sizes and bound values; "
                               "--bind=NAME=VALUE fixes a graph input or a symbolic dimension";
  return *value != 0;
}

LogicalResult bppsa::importIf(Node &node) {
  FailureOr<bool> condition = getCondition(node);
  if (failed(condition))
    return failure();
  const onnx::GraphProto &branch = node.getGraph(*condition ? "then_branch" : "else_branch");
  if (branch.input_size() != 0)
    return node.emitError() << "the graph " << quoted(branch.name())
                            << " has inputs, accepted: none";
  if (branch.output_size() != static_cast<int>(node.outputs.size()))
    return node.emitError() << "has " << node.outputs.size() << " outputs, but the graph "
                            << quoted(branch.name()) << " has " << branch.output_size();
  Scope scope(&node.scope);
  FailureOr<SmallVector<Tensor>> outputs = node.importer.importBody(branch, scope);
  if (failed(outputs))
    return failure();
  for (auto [i, output] : llvm::enumerate(*outputs))
    if (failed(node.setOutput(i, output)))
      return failure();
  return success();
}

//===- GraphImporter.cpp - import nodes and subgraphs ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Importer.h"

using namespace mlir;
using namespace bppsa;

FailureOr<const Tensor *> Scope::lookup(StringRef name) {
  if (auto it = values.find(name); it != values.end())
    return &it->second;
  if (!parent)
    return static_cast<const Tensor *>(nullptr);
  FailureOr<const Tensor *> outer = parent->lookup(name);
  if (failed(outer) || !*outer || !capture)
    return outer;
  FailureOr<Tensor> inner = capture(name, **outer);
  if (failed(inner))
    return failure();
  return &values.try_emplace(name, std::move(*inner)).first->second;
}

LogicalResult GraphImporter::define(Scope &scope, const std::string &name, Tensor tensor) const {
  if (!scope.define(name, std::move(tensor)))
    return error() << "the name " << quoted(name) << " is defined twice";
  return success();
}

static LogicalResult emitUndefined(const Node &node, const onnx::GraphProto &proto,
                                   StringRef name) {
  for (const onnx::NodeProto &other : proto.node())
    if (llvm::is_contained(other.output(), name.str()))
      return node.emitError() << "reads " << quoted(name)
                              << ", which only a later node defines: the graph is cyclic or its "
                                 "nodes are not in topological order";
  return node.emitError() << "reads " << quoted(name) << ", which nothing defines";
}

LogicalResult GraphImporter::importNode(const onnx::GraphProto &proto,
                                        const onnx::NodeProto &nodeProto, Scope &scope) {
  const OpRule *rule = findRule(nodeProto);
  StringRef name = getNodeName(nodeProto);
  if (!rule->opsets.contains(opset))
    return error() << "node " << quoted(name) << " (" << rule->name << "): the model has opset "
                   << opset << ", accepted: " << rule->opsets.first << " to " << rule->opsets.last;
  // Diagnostics of emulated kernels show both names.
  OpBuilder &builder = graph.builder;
  Location type = NameLoc::get(builder.getStringAttr(rule->name), file.location);
  graph.loc = NameLoc::get(builder.getStringAttr(name.empty() ? rule->name : name), type);
  Node node(*this, scope, proto, nodeProto, *rule);
  for (const std::string &input : nodeProto.input()) {
    if (input.empty()) {
      node.inputs.push_back(std::nullopt);
      continue;
    }
    FailureOr<const Tensor *> tensor = scope.lookup(input);
    if (failed(tensor))
      return failure();
    if (!*tensor)
      return emitUndefined(node, proto, input);
    node.inputs.push_back(**tensor);
  }
  if (failed(node.checkAttributes()) || failed(node.checkOperands()) || failed(rule->import(node)))
    return failure();
  for (auto [output, tensor] : llvm::zip(nodeProto.output(), node.outputs))
    if (!output.empty() && tensor && failed(define(scope, output, std::move(*tensor))))
      return failure();
  return success();
}

LogicalResult GraphImporter::importNodes(const onnx::GraphProto &proto, Scope &scope) {
  if (failed(requireSupported(proto, file.location)))
    return failure();
  for (const onnx::NodeProto &node : proto.node())
    if (failed(importNode(proto, node, scope)))
      return failure();
  return success();
}

FailureOr<SmallVector<Tensor>> GraphImporter::getOutputs(const onnx::GraphProto &proto,
                                                         Scope &scope) const {
  SmallVector<Tensor> outputs;
  for (const onnx::ValueInfoProto &output : proto.output()) {
    FailureOr<const Tensor *> tensor = scope.lookup(output.name());
    if (failed(tensor))
      return failure();
    if (!*tensor)
      return error() << "output " << quoted(output.name()) << " of the graph "
                     << quoted(proto.name()) << " is not defined";
    outputs.push_back(**tensor);
  }
  return outputs;
}

FailureOr<SmallVector<Tensor>> GraphImporter::importBody(const onnx::GraphProto &proto,
                                                         Scope &scope) {
  if (proto.sparse_initializer_size() != 0 || proto.quantization_annotation_size() != 0)
    return error() << "the graph " << quoted(proto.name())
                   << " inside of a node has sparse initializers or quantization annotations, "
                      "which are not accepted";
  numInnerNodes += proto.node_size() + 1;
  if (numInnerNodes > maxInnerNodes)
    return error() << "the subgraphs of nodes have more than 2^17 nodes, counted once per unrolled "
                      "step of each enclosing loop; reduce the number of unrolled steps";
  for (const onnx::TensorProto &tensor : proto.initializer()) {
    if (graph.parameterNumbers.contains(tensor.name()) &&
        llvm::none_of(file.model.graph().initializer(),
                      [&](const auto &other) { return other.name() == tensor.name(); }))
      continue;
    FailureOr<DenseElementsAttr> constant =
        decodeTensor(file, tensor, "initializer " + quoted(tensor.name()));
    if (failed(constant) || failed(define(scope, tensor.name(), graph.makeConstant(*constant))))
      return failure();
    // A body may be imported several times.
    if (tensor.data_type() == onnx::TensorProto::FLOAT &&
        !llvm::is_contained(innerConstants, tensor.name()))
      innerConstants.push_back(tensor.name());
  }
  if (failed(importNodes(proto, scope)))
    return failure();
  return getOutputs(proto, scope);
}

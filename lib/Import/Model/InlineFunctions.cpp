//===- InlineFunctions.cpp - model-local functions ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InlineFunctions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace bppsa;

namespace {
using Names = llvm::StringMap<std::string>;
using Attributes = llvm::StringMap<onnx::AttributeProto>;

class Inliner {
public:
  explicit Inliner(OnnxFile &file) : file(file) {}
  LogicalResult run();

private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using Key = std::array<std::string, 3>;

  LogicalResult collect();
  LogicalResult inlineCalls(Nodes &nodes, size_t depth);
  LogicalResult inlineCall(const onnx::NodeProto &call, const onnx::FunctionProto &function,
                           Nodes &nodes, size_t depth);
  LogicalResult specialize(onnx::NodeProto &node, StringRef prefix, Names &names,
                           const Attributes &attributes);
  LogicalResult specialize(onnx::GraphProto &graph, StringRef prefix, Names names,
                           const Attributes &attributes);
  FailureOr<Attributes> bindAttributes(const onnx::NodeProto &call,
                                       const onnx::FunctionProto &function);

  static std::string getDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }
  static std::string getName(const onnx::NodeProto &node) {
    return node.name().empty() && node.output_size() ? node.output(0) : node.name();
  }
  InFlightDiagnostic error(const onnx::NodeProto &call) const {
    return emitError(file.location)
           << "node " << quoted(getName(call)) << " (function " << call.op_type() << "): ";
  }

  static constexpr int64_t maxNodes = 1 << 20;

  OnnxFile &file;
  std::map<Key, const onnx::FunctionProto *> functions;
  int64_t numNodes = 0, numCalls = 0;
};
} // namespace

LogicalResult Inliner::collect() {
  for (const onnx::FunctionProto &function : file.model.functions()) {
    Key key = {getDomain(function.domain()), function.name(), function.overload()};
    if (!functions.try_emplace(key, &function).second)
      return emitError(file.location) << "the function " << quoted(function.name()) << " of domain "
                                      << quoted(function.domain()) << " is defined twice";
    for (const onnx::OperatorSetIdProto &import : function.opset_import())
      for (const onnx::OperatorSetIdProto &other : file.model.opset_import())
        if (getDomain(import.domain()).empty() && getDomain(other.domain()).empty() &&
            import.version() != other.version())
          return emitError(file.location)
                 << "the function " << quoted(function.name()) << " imports opset "
                 << import.version() << ", accepted: " << other.version() << " as the model does";
  }
  return success();
}

FailureOr<Attributes> Inliner::bindAttributes(const onnx::NodeProto &call,
                                              const onnx::FunctionProto &function) {
  Attributes attributes;
  for (const onnx::AttributeProto &attribute : function.attribute_proto())
    attributes[attribute.name()] = attribute;
  for (const onnx::AttributeProto &attribute : call.attribute()) {
    if (!attributes.contains(attribute.name()) &&
        !llvm::is_contained(function.attribute(), attribute.name()))
      return error(call) << "the function has no attribute " << quoted(attribute.name());
    attributes[attribute.name()] = attribute;
  }
  return attributes;
}

LogicalResult Inliner::specialize(onnx::NodeProto &node, StringRef prefix, Names &names,
                                  const Attributes &attributes) {
  for (std::string &input : *node.mutable_input())
    if (!input.empty())
      if (auto it = names.find(input); it != names.end())
        input = it->second;
  for (std::string &output : *node.mutable_output())
    if (!output.empty())
      output = names.try_emplace(output, (prefix + output).str()).first->second;
  node.set_name((prefix + (node.name().empty() ? node.op_type() : node.name())).str());
  auto &list = *node.mutable_attribute();
  for (int i = 0; i < list.size();) {
    onnx::AttributeProto &attribute = list[i];
    if (!attribute.ref_attr_name().empty()) {
      auto it = attributes.find(attribute.ref_attr_name());
      // An attribute omitted in the call is omitted in the node.
      if (it == attributes.end()) {
        list.DeleteSubrange(i, 1);
        continue;
      }
      std::string name = attribute.name();
      attribute = it->second;
      attribute.set_name(name);
    } else if (attribute.type() == onnx::AttributeProto::GRAPH &&
               failed(specialize(*attribute.mutable_g(), prefix, names, attributes))) {
      return failure();
    }
    ++i;
  }
  return success();
}

LogicalResult Inliner::specialize(onnx::GraphProto &graph, StringRef prefix, Names names,
                                  const Attributes &attributes) {
  auto rename = [&](std::string &name) {
    name = names.try_emplace(name, (prefix + name).str()).first->second;
  };
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    rename(*input.mutable_name());
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    rename(*tensor.mutable_name());
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (failed(specialize(node, prefix, names, attributes)))
      return failure();
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    rename(*output.mutable_name());
  return success();
}

LogicalResult Inliner::inlineCall(const onnx::NodeProto &call, const onnx::FunctionProto &function,
                                  Nodes &nodes, size_t depth) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    return error(call) << "has " << call.input_size() << " inputs and " << call.output_size()
                       << " outputs, accepted: at most " << function.input_size() << " and "
                       << function.output_size();
  FailureOr<Attributes> attributes = bindAttributes(call, function);
  if (failed(attributes))
    return failure();
  // Several calls may have the same name, or none.
  std::string prefix = getName(call) + "/", unique = prefix + std::to_string(numCalls++) + "/";
  Names names;
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < call.output_size(); ++i)
    if (!call.output(i).empty() && !names.try_emplace(function.output(i), call.output(i)).second) {
      // The function returns one of its inputs.
      onnx::NodeProto &copy = *nodes.Add();
      copy.set_op_type("Identity");
      copy.set_name(prefix + "Identity");
      copy.add_input(names[function.output(i)]);
      copy.add_output(call.output(i));
    }
  Nodes body = function.node();
  for (onnx::NodeProto &node : body) {
    std::string name = node.name().empty() ? node.op_type() : node.name();
    if (failed(specialize(node, unique, names, *attributes)))
      return failure();
    node.set_name(prefix + name);
  }
  if (failed(inlineCalls(body, depth + 1)))
    return failure();
  for (onnx::NodeProto &node : body)
    *nodes.Add() = std::move(node);
  return success();
}

LogicalResult Inliner::inlineCalls(Nodes &nodes, size_t depth) {
  Nodes result;
  for (onnx::NodeProto &node : nodes) {
    if (++numNodes > maxNodes)
      return emitError(file.location)
             << "with its functions inlined the model has more than 2^20 nodes";
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.type() == onnx::AttributeProto::GRAPH &&
          failed(inlineCalls(*attribute.mutable_g()->mutable_node(), depth)))
        return failure();
    auto it = functions.find({getDomain(node.domain()), node.op_type(), node.overload()});
    if (it == functions.end()) {
      *result.Add() = std::move(node);
      continue;
    }
    if (depth > functions.size())
      return error(node) << "functions call each other in a circle";
    if (failed(inlineCall(node, *it->second, result, depth)))
      return failure();
  }
  nodes = std::move(result);
  return success();
}

LogicalResult Inliner::run() {
  if (failed(collect()))
    return failure();
  return inlineCalls(*file.model.mutable_graph()->mutable_node(), 1);
}

LogicalResult bppsa::inlineFunctions(OnnxFile &file) {
  return file.model.functions_size() == 0 ? success() : Inliner(file).run();
}

//===- TrainConstants.cpp - initializers in place of Constant nodes -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ConstantWeights.h"
#include "InitializerUses.h"
#include "bppsa/Import/Initializers.h"
#include "bppsa/Support/NamePattern.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <array>
#include <map>

using namespace mlir;
using namespace bppsa;

namespace {
/// Moves matching Constant nodes to initializers of the main graph. Subgraphs read them from the
/// enclosing graph; functions receive them as additional inputs.
class ConstantHoister {
public:
  ConstantHoister(OnnxFile &file, const llvm::Regex &regex);
  void run();

  std::vector<std::string> lifted;

private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using Key = std::array<std::string, 3>;
  struct Function {
    onnx::FunctionProto *proto = nullptr;
    bool isVisited = false;
    std::vector<std::string> inputs;
  };

  static std::string getDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }
  void count(const onnx::GraphProto &graph);
  void count(const Nodes &nodes);
  std::string makeName(const std::string &name, bool isTaken);
  bool isLifted(const onnx::NodeProto &node) const;
  std::string lift(const onnx::NodeProto &node, bool isOutput);
  void visitGraph(onnx::GraphProto &inner, const llvm::StringMap<std::string> &names,
                  std::vector<std::string> &made);
  void visit(Nodes &nodes, const llvm::StringSet<> &outputs, llvm::StringMap<std::string> names,
             std::vector<std::string> &made);
  void visitFunction(Function &function);
  void addInputs(onnx::NodeProto &call, std::vector<std::string> &made);

  OnnxFile &file;
  onnx::GraphProto &graph;
  const llvm::Regex &regex;
  std::map<Key, Function> functions;
  llvm::StringMap<int> definitions;
};
} // namespace

ConstantHoister::ConstantHoister(OnnxFile &file, const llvm::Regex &regex)
    : file(file), graph(*file.model.mutable_graph()), regex(regex) {
  for (onnx::FunctionProto &function : *file.model.mutable_functions()) {
    functions[{getDomain(function.domain()), function.name(), function.overload()}].proto =
        &function;
    for (const std::string &input : function.input())
      ++definitions[input];
    count(function.node());
  }
  count(graph);
}

void ConstantHoister::count(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &input : graph.input())
    ++definitions[input.name()];
  for (const onnx::TensorProto &tensor : graph.initializer())
    ++definitions[tensor.name()];
  count(graph.node());
}

void ConstantHoister::count(const Nodes &nodes) {
  for (const onnx::NodeProto &node : nodes) {
    for (const std::string &output : node.output())
      ++definitions[output];
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        count(attribute.g());
  }
}

std::string ConstantHoister::makeName(const std::string &name, bool isTaken) {
  if (!isTaken && definitions[name] == 1)
    return name;
  for (unsigned number = 2;; ++number)
    if (std::string next = name + "." + std::to_string(number);
        definitions.try_emplace(next, 1).second)
      return next;
}

bool ConstantHoister::isLifted(const onnx::NodeProto &node) const {
  std::optional<onnx::TensorProto> constant = getFloatConstant(node);
  return constant && constant->dims_size() >= 1 && !llvm::is_contained(constant->dims(), 0) &&
         regex.match(node.output(0));
}

std::string ConstantHoister::lift(const onnx::NodeProto &node, bool isOutput) {
  onnx::TensorProto tensor = *getFloatConstant(node);
  std::string name = makeName(node.output(0), isOutput);
  tensor.set_name(name);
  addInitializer(file.model, std::move(tensor));
  lifted.push_back(name);
  return name;
}

/// Replaces matching constants in `nodes`, whose graph or function has the outputs `outputs`. All
/// initializers that the nodes read are appended to `made`.
void ConstantHoister::visit(Nodes &nodes, const llvm::StringSet<> &outputs,
                            llvm::StringMap<std::string> names, std::vector<std::string> &made) {
  Nodes kept;
  for (onnx::NodeProto &node : nodes) {
    if (isLifted(node)) {
      bool isOutput = outputs.contains(node.output(0));
      std::string name = lift(node, isOutput);
      names[node.output(0)] = name;
      made.push_back(name);
      if (!isOutput)
        continue;
      node.set_op_type("Identity");
      node.clear_attribute();
      node.add_input(name);
    }
    for (std::string &input : *node.mutable_input())
      if (auto name = names.find(input); name != names.end())
        input = name->second;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        visitGraph(*attribute.mutable_g(), names, made);
    addInputs(node, made);
    *kept.Add() = std::move(node);
  }
  nodes = std::move(kept);
}

void ConstantHoister::visitGraph(onnx::GraphProto &inner, const llvm::StringMap<std::string> &names,
                                 std::vector<std::string> &made) {
  llvm::StringSet<> outputs;
  llvm::StringMap<std::string> visible = names;
  for (const onnx::ValueInfoProto &input : inner.input())
    visible.erase(input.name());
  for (const onnx::NodeProto &node : inner.node())
    for (const std::string &output : node.output())
      visible.erase(output);
  for (onnx::ValueInfoProto &output : *inner.mutable_output())
    if (auto name = visible.find(output.name()); name != visible.end())
      output.set_name(name->second);
    else
      outputs.insert(output.name());
  visit(*inner.mutable_node(), outputs, std::move(visible), made);
}

/// Adds inputs for the initializers that the function and its callees need.
void ConstantHoister::visitFunction(Function &function) {
  if (std::exchange(function.isVisited, true))
    return;
  llvm::StringSet<> outputs;
  outputs.insert(function.proto->output().begin(), function.proto->output().end());
  std::vector<std::string> made;
  visit(*function.proto->mutable_node(), outputs, {}, made);
  for (const std::string &name : made)
    if (!llvm::is_contained(function.inputs, name)) {
      function.inputs.push_back(name);
      function.proto->add_input(name);
    }
}

void ConstantHoister::addInputs(onnx::NodeProto &call, std::vector<std::string> &made) {
  auto found = functions.find({getDomain(call.domain()), call.op_type(), call.overload()});
  if (found == functions.end())
    return;
  Function &function = found->second;
  visitFunction(function);
  if (function.inputs.empty())
    return;
  int numOwn = function.proto->input_size() - static_cast<int>(function.inputs.size());
  while (call.input_size() < numOwn)
    call.add_input("");
  for (const std::string &name : function.inputs) {
    call.add_input(name);
    made.push_back(name);
  }
}

void ConstantHoister::run() {
  llvm::StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  std::vector<std::string> made;
  visit(*graph.mutable_node(), outputs, {}, made);
}

FailureOr<TrainedConstants> bppsa::trainConstants(llvm::MemoryBufferRef buffer,
                                                  MLIRContext *context, StringRef pattern) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  std::string wrong;
  llvm::Regex regex = compilePattern("--train", pattern, wrong);
  if (!wrong.empty())
    return emitError(file->location) << wrong;
  ConstantHoister lifter(*file, regex);
  lifter.run();
  if (lifter.lifted.empty())
    return TrainedConstants();
  FailureOr<std::string> bytes =
      serializeOnnxFile(*file, "with initializers in place of constants the model");
  if (failed(bytes))
    return failure();
  return TrainedConstants{std::move(lifter.lifted), std::move(*bytes)};
}

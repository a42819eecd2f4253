//===- TrainingMode.cpp - switch nodes to training mode -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/TrainingMode.h"
#include "../Model/GraphImporter.h"
#include "InitializerUses.h"
#include "bppsa/Support/NamePattern.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

static constexpr StringRef kTrainingMode = "training_mode";

static int64_t getOpset(const onnx::ModelProto &model) {
  for (const onnx::OperatorSetIdProto &import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx")
      return import.version();
  return 0;
}

static std::string addTrue(onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  collectNames(graph, names);
  std::string name = kTrainingMode.str();
  while (names.contains(name))
    name += "_";
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::BOOL);
  tensor.set_raw_data(std::string(1, 1));
  return name;
}

static void setTrainingMode(onnx::NodeProto &node, onnx::GraphProto &graph) {
  if (node.op_type() == "Dropout") {
    while (node.input_size() < 3)
      node.add_input("");
    node.set_input(2, addTrue(graph));
    return;
  }
  auto found = llvm::find_if(*node.mutable_attribute(), [](const onnx::AttributeProto &attribute) {
    return attribute.name() == kTrainingMode;
  });
  onnx::AttributeProto &attribute =
      found == node.mutable_attribute()->end() ? *node.add_attribute() : *found;
  attribute.set_name(kTrainingMode.str());
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(1);
}

FailureOr<std::string> bppsa::setTrainingMode(llvm::MemoryBufferRef buffer, MLIRContext *context,
                                              StringRef pattern) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  std::string wrong;
  llvm::Regex regex = compilePattern("--training-mode", pattern, wrong);
  if (!wrong.empty())
    return emitError(file->location) << wrong;
  constexpr int64_t first = 14;
  if (int64_t opset = getOpset(file->model); opset < first)
    return emitError(file->location) << "--training-mode needs a model of opset " << first
                                     << " or newer, found " << opset << "; export it with that";
  onnx::GraphProto &graph = *file->model.mutable_graph();
  bool isFound = false;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    bool hasMode = node.op_type() == "BatchNormalization" || node.op_type() == "Dropout";
    if (!hasMode || (!pattern.empty() && !regex.match(getNodeName(node))))
      continue;
    ::setTrainingMode(node, graph);
    isFound = true;
  }
  if (!isFound)
    return emitError(file->location)
           << "--training-mode" << (pattern.empty() ? "" : "='" + pattern + "'")
           << " finds no BatchNormalization or Dropout node; exporters remove them for inference: "
              "export with training=TrainingMode.TRAINING and do_constant_folding=False, or with "
              "optimize=False and dynamo=True";
  return serializeOnnxFile(*file, "the model");
}

namespace {
/// The names that the nodes of a graph read, and the names of initializers and their aliases.
struct GraphNames {
  explicit GraphNames(const onnx::GraphProto &graph);
  void addReads(const onnx::GraphProto &graph);

  llvm::StringSet<> read, initializers;
};
} // namespace

GraphNames::GraphNames(const onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Identity" && initializers.contains(node.input(0)))
      initializers.insert(node.output(0));
  addReads(graph);
}

void GraphNames::addReads(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      read.insert(input);
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        addReads(attribute.g());
  }
}

static bool hasOneOutput(const onnx::NodeProto &node, const GraphNames &names) {
  return llvm::none_of(llvm::drop_begin(node.output()),
                       [&](const std::string &output) { return names.read.contains(output); });
}

static bool clearTrainingMode(onnx::NodeProto &node, const GraphNames &names) {
  if (!hasOneOutput(node, names))
    return false;
  if (node.op_type() == "Dropout") {
    if (node.input_size() < 3)
      return false;
    node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
  } else {
    auto isSet = [](const onnx::AttributeProto &attribute) {
      return attribute.name() == kTrainingMode && attribute.i() == 1;
    };
    auto *attributes = node.mutable_attribute();
    auto found = llvm::find_if(*attributes, isSet);
    bool areStored = node.input_size() == 5 && names.initializers.contains(node.input(3)) &&
                     names.initializers.contains(node.input(4));
    if (found == attributes->end() || !areStored)
      return false;
    attributes->erase(found);
  }
  if (node.output_size() > 1)
    node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
  return true;
}

FailureOr<std::optional<std::string>> bppsa::makeInferenceForm(llvm::MemoryBufferRef buffer,
                                                               MLIRContext *context) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  onnx::GraphProto &graph = *file->model.mutable_graph();
  GraphNames names(graph);
  bool isChanged = false;
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (node.op_type() == "BatchNormalization" || node.op_type() == "Dropout")
      isChanged |= clearTrainingMode(node, names);
  if (!isChanged)
    return std::optional<std::string>();
  FailureOr<std::string> bytes = serializeOnnxFile(*file, "the model");
  if (failed(bytes))
    return failure();
  return std::optional<std::string>(std::move(*bytes));
}

//===- ConstantWeights.cpp - weights in Constant nodes --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ConstantWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <array>
#include <map>
#include <set>

using namespace mlir;
using namespace bppsa;

std::optional<onnx::TensorProto> bppsa::getFloatConstant(const onnx::NodeProto &node) {
  if (node.op_type() != "Constant" || !(node.domain().empty() || node.domain() == "ai.onnx") ||
      node.output_size() != 1 || node.output(0).empty())
    return std::nullopt;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_t() && attribute.t().data_type() == onnx::TensorProto::FLOAT)
      return attribute.t();
    if (attribute.name() != "value_floats" || attribute.floats_size() == 0)
      continue;
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
    return tensor;
  }
  return std::nullopt;
}

static ArrayRef<int> getWeightInputs(StringRef op) {
  static constexpr std::array<int, 2> both = {0, 1}, recurrent = {1, 2};
  static constexpr std::array<int, 1> second = {1}, first = {0};
  return llvm::StringSwitch<ArrayRef<int>>(op)
      .Cases({"MatMul", "Gemm", "Einsum"}, both)
      .Cases({"RNN", "GRU", "LSTM"}, recurrent)
      .Cases({"Conv", "ConvTranspose"}, second)
      // With computed indices, Gather is the product of a table and one-hot vectors.
      .Case("Gather", first)
      .Default({});
}

static bool changesLayout(StringRef op) {
  static const llvm::StringSet<> ops = {
      "Cast",    "CastLike", "Concat", "DequantizeLinear", "Expand",    "Flatten",  "Identity",
      "Reshape", "Slice",    "Split",  "Squeeze",          "Transpose", "Unsqueeze"};
  return ops.contains(op);
}

namespace {
using Sources = std::set<std::string>;

/// Tracks constants through the nodes of graphs and functions.
class WeightFinder {
public:
  explicit WeightFinder(const onnx::ModelProto &model);

  std::vector<std::string> getFound() const;

private:
  using Values = llvm::StringMap<Sources>;
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
  using Key = std::array<std::string, 3>;
  /// The uses of a function's inputs.
  struct Summary {
    std::set<int> weights;
    std::vector<Sources> outputs;
  };

  struct State {
    Values values;
    llvm::StringSet<> computed;
    Sources weights;
  };

  static std::string getDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }
  void visit(const Nodes &nodes, State &state);
  void define(const onnx::NodeProto &node, State &state);
  void visitGraphs(const onnx::NodeProto &node, State &state);
  void visitCall(const onnx::NodeProto &node, State &state);
  const Summary &summarize(const Key &key, const onnx::FunctionProto &function);

  std::map<Key, const onnx::FunctionProto *> functions;
  std::map<Key, Summary> summaries;
  std::vector<std::string> candidates;
  Sources found;
};
} // namespace

static std::string makeInputSource(int input) {
  return std::string(1, '\0') + std::to_string(input);
}

static std::optional<int> getInputSource(const std::string &source) {
  return !source.empty() && source.front() == '\0' ? std::optional(std::stoi(source.substr(1)))
                                                   : std::nullopt;
}

WeightFinder::WeightFinder(const onnx::ModelProto &model) {
  for (const onnx::FunctionProto &function : model.functions())
    functions[{getDomain(function.domain()), function.name(), function.overload()}] = &function;
  State state;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    state.computed.insert(input.name());
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    state.computed.erase(tensor.name());
  visit(model.graph().node(), state);
}

/// Records the constants held by the outputs of `node`. Earlier entries for the same names may stem
/// from other graphs.
void WeightFinder::define(const onnx::NodeProto &node, State &state) {
  Sources held;
  if (changesLayout(node.op_type()))
    for (const std::string &input : node.input())
      if (auto found = state.values.find(input); found != state.values.end())
        held.insert(found->second.begin(), found->second.end());
  if (auto constant = getFloatConstant(node); constant && constant->dims_size() >= 2) {
    held.insert(node.output(0));
    candidates.push_back(node.output(0));
  }
  bool isComputed =
      llvm::any_of(node.input(),
                   [&](const std::string &input) { return state.computed.contains(input); }) ||
      llvm::any_of(node.attribute(), [](const auto &attribute) { return attribute.has_g(); });
  for (const std::string &output : node.output()) {
    state.values.erase(output);
    if (!held.empty())
      state.values[output] = held;
    if (isComputed)
      state.computed.insert(output);
    else
      state.computed.erase(output);
  }
}

void WeightFinder::visit(const Nodes &nodes, State &state) {
  for (const onnx::NodeProto &node : nodes) {
    bool isFixedTable = node.op_type() == "Gather" && node.input_size() > 1 &&
                        !state.computed.contains(node.input(1));
    for (int input : getWeightInputs(node.op_type()))
      if (auto held = input < node.input_size() && !isFixedTable
                          ? state.values.find(node.input(input))
                          : state.values.end();
          held != state.values.end())
        state.weights.insert(held->second.begin(), held->second.end());
    visitGraphs(node, state);
    define(node, state);
    visitCall(node, state);
  }
  for (const std::string &source : state.weights)
    if (!getInputSource(source))
      found.insert(source);
}

void WeightFinder::visitGraphs(const onnx::NodeProto &node, State &state) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (!attribute.has_g())
      continue;
    const onnx::GraphProto &graph = attribute.g();
    // The inputs of a body correspond to the inputs of its Loop or Scan.
    for (int i = 0; i < graph.input_size(); ++i) {
      const std::string &name = graph.input(i).name();
      state.computed.insert(name);
      state.values.erase(name);
      if (Sources held = i < node.input_size() ? state.values.lookup(node.input(i)) : Sources();
          !held.empty())
        state.values[name] = std::move(held);
    }
    visit(graph.node(), state);
  }
}

std::vector<std::string> WeightFinder::getFound() const {
  std::vector<std::string> ordered;
  for (const std::string &name : candidates)
    if (found.count(name) && !llvm::is_contained(ordered, name))
      ordered.push_back(name);
  return ordered;
}

const WeightFinder::Summary &WeightFinder::summarize(const Key &key,
                                                     const onnx::FunctionProto &function) {
  auto [entry, isNew] = summaries.try_emplace(key);
  if (!isNew)
    return entry->second;
  State state;
  for (int i = 0; i < function.input_size(); ++i) {
    state.values[function.input(i)] = {makeInputSource(i)};
    state.computed.insert(function.input(i));
  }
  visit(function.node(), state);
  Summary &summary = entry->second;
  for (const std::string &source : state.weights)
    if (std::optional<int> input = getInputSource(source))
      summary.weights.insert(*input);
  for (const std::string &output : function.output())
    summary.outputs.push_back(state.values.lookup(output));
  return summary;
}

void WeightFinder::visitCall(const onnx::NodeProto &node, State &state) {
  Key key = {getDomain(node.domain()), node.op_type(), node.overload()};
  auto function = functions.find(key);
  if (function == functions.end())
    return;
  // A copy, because summarizing other functions may insert into the map.
  Summary summary = summarize(key, *function->second);
  auto getSources = [&](int input) {
    return input < node.input_size() ? state.values.lookup(node.input(input)) : Sources();
  };
  for (int input : summary.weights) {
    Sources sources = getSources(input);
    state.weights.insert(sources.begin(), sources.end());
  }
  for (auto [output, held] : llvm::zip(node.output(), summary.outputs))
    for (const std::string &source : held) {
      std::optional<int> input = getInputSource(source);
      Sources sources = input ? getSources(*input) : Sources{source};
      state.values[output].insert(sources.begin(), sources.end());
    }
}

std::vector<std::string> bppsa::findConstantWeights(const onnx::ModelProto &model) {
  return WeightFinder(model).getFound();
}

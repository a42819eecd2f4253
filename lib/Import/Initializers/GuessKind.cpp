//===- GuessKind.cpp - infer roles of initializers ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "GuessKind.h"
#include "InspectInitializers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;
using Role = InitializerKind::Role;

FailureOr<ValueFacts> bppsa::readFacts(const OnnxFile &file, const onnx::TensorProto &tensor) {
  std::string what = "initializer " + quoted(tensor.name());
  FailureOr<TypedBytes> values = readTypedBytes(file, tensor, what);
  if (failed(values))
    return failure();
  ValueFacts facts;
  facts.count = values->type.getNumElements();
  auto element = [&](int64_t i) {
    return llvm::bit_cast<float>(llvm::support::endian::read32le(values->bytes.data() + 4 * i));
  };
  for (int64_t i = 0; i < facts.count; ++i) {
    facts.isUniform &= element(i) == element(0);
    facts.isFinite &= std::isfinite(element(i));
  }
  return facts;
}

bool bppsa::isGeneratedName(StringRef name) {
  static const llvm::Regex pattern(
      "^(_?val_[0-9]+|[0-9]+|scalar_tensor.*|const_fold_opt__[0-9]+|onnx::[A-Za-z]+_[0-9]+|"
      "(.*/)?[Cc]onst(ant)?(_[0-9]+)?(_output_[0-9]+|:[0-9]+)?)$");
  return pattern.match(name);
}

static bool isParameterName(StringRef name) {
  static const llvm::Regex pattern("(^|[._/])(weight|bias)(_(ih|hh|hr)(_l[0-9]+)?(_reverse)?)?$");
  return pattern.match(name);
}

/// Returns the operator in the name of a value folded by PyTorch's older exporter: "Conv" for
/// "onnx::Conv_12".
static StringRef getFoldedFor(StringRef name) {
  if (!name.consume_front("onnx::"))
    return "";
  auto [op, number] = name.rsplit('_');
  return number.empty() ? "" : op;
}

static ArrayRef<int> getParameterInputs(StringRef op) {
  static const llvm::StringMap<SmallVector<int>> inputs = {
      {"BatchNormalization", {1, 2}},
      {"Conv", {1, 2}},
      {"ConvTranspose", {1, 2}},
      {"Einsum", {0, 1, 2}},
      {"GRU", {1, 2, 3}},
      {"Gather", {0}},
      {"Gemm", {0, 1, 2}},
      {"GroupNormalization", {1, 2}},
      {"InstanceNormalization", {1, 2}},
      {"LSTM", {1, 2, 3, 7}},
      {"LayerNormalization", {1, 2}},
      {"MatMul", {0, 1}},
      {"PRelu", {1}},
      {"RMSNormalization", {1}},
      {"RNN", {1, 2, 3}},
  };
  auto found = inputs.find(op);
  return found == inputs.end() ? ArrayRef<int>() : ArrayRef<int>(found->second);
}

static bool movesElements(StringRef op) {
  static const llvm::StringSet<> operators = {"Cast",    "Concat",    "Flatten",  "Identity",
                                              "Reshape", "Slice",     "Split",    "Squeeze",
                                              "Tile",    "Transpose", "Unsqueeze"};
  return operators.contains(op);
}

namespace {
/// Finds scales and biases that a graph applies by Mul and Add, such as the bias after a linear
/// layer's product.
class AffineParts {
public:
  explicit AffineParts(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &output : node.output())
        producers[output] = &node;
  }

  StringRef findLayer(const onnx::NodeProto &node, int i) const;

private:
  const onnx::NodeProto *findSource(StringRef value) const;

  llvm::StringMap<const onnx::NodeProto *> producers;
};
} // namespace

const onnx::NodeProto *AffineParts::findSource(StringRef value) const {
  const onnx::NodeProto *node = producers.lookup(value);
  while (node && movesElements(node->op_type()) && node->input_size() > 0)
    node = producers.lookup(node->input(0));
  return node;
}

StringRef AffineParts::findLayer(const onnx::NodeProto &node, int i) const {
  bool isAdd = node.op_type() == "Add";
  if ((!isAdd && node.op_type() != "Mul") || node.input_size() != 2)
    return "";
  const onnx::NodeProto *source = findSource(node.input(1 - i));
  if (!source)
    return "";
  StringRef op = source->op_type();
  if (!isAdd)
    return op == "InstanceNormalization" ? op : "";
  if (op == "Mul")
    return llvm::any_of(ArrayRef<int>{0, 1},
                        [&](int factor) { return !findLayer(*source, factor).empty(); })
               ? "InstanceNormalization"
               : "";
  return op == "MatMul" || op == "Einsum" || op == "Conv" ? op : "";
}

void KindGuesser::addWeights(const onnx::GraphProto &graph) {
  AffineParts affine(graph);
  for (const onnx::NodeProto &node : llvm::reverse(graph.node())) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        addWeights(attribute.g());
    for (int i : getParameterInputs(node.op_type()))
      if (i < node.input_size())
        weights.try_emplace(node.input(i), node.op_type());
    for (int i : {0, 1})
      if (StringRef layer = affine.findLayer(node, i); !layer.empty())
        weights.try_emplace(node.input(i), layer.str());
    if (!movesElements(node.op_type()) || node.input_size() == 0)
      continue;
    for (const std::string &output : node.output())
      if (auto weight = weights.find(output); weight != weights.end()) {
        std::string op = weight->second;
        bool movesAll = node.op_type() == "Concat";
        for (int i = 0, e = movesAll ? node.input_size() : 1; i < e; ++i)
          weights.try_emplace(node.input(i), op);
      }
  }
}

KindGuesser::KindGuesser(const OnnxFile &file, const RecordedKinds &kinds)
    : file(file), kinds(kinds) {
  addWeights(file.model.graph());
}

InitializerKind KindGuesser::guessParameter(StringRef name) const {
  auto weight = weights.find(name);
  bool isWeight = weight != weights.end();
  // Weights are excluded because other tools may have renamed them since export.
  if (kinds.hasSignature() && !isWeight)
    return {Role::Constant, "not recorded as a parameter", Evidence::Use};
  bool isPyTorch = file.model.producer_name() == "pytorch";
  StringRef foldedFor = getFoldedFor(name);
  // These operators take weights in PyTorch's layout, so a folded weight was computed, for example
  // by fusing a BatchNormalization.
  static const llvm::StringSet<> inLayout = {"Conv", "ConvTranspose", "Gemm"};
  if (isWeight && inLayout.contains(foldedFor))
    return {Role::Derived, "computed for " + foldedFor.str(), Evidence::Name};
  // Buffers can also be used as weights, such as the matrix of a transform. PyTorch keeps their
  // names.
  bool isNamed = isParameterName(name);
  if (isWeight && (!isPyTorch || isNamed || isGeneratedName(name)))
    return {Role::Parameter, "used as a weight of " + weight->second, Evidence::Use};
  if (isNamed)
    return {Role::Parameter, "named as a parameter", Evidence::Name};
  return {Role::Doubtful, "not known to be a constant", Evidence::Name};
}

FailureOr<InitializerKind> KindGuesser::guess(const onnx::TensorProto &tensor) const {
  FailureOr<ValueFacts> facts = readFacts(file, tensor);
  if (failed(facts))
    return failure();
  if (!facts->isFinite)
    return InitializerKind{Role::Constant, "not finite", Evidence::Use};
  StringRef name = tensor.name();
  bool isScalar = tensor.dims_size() == 0;
  bool isWeight = !isScalar && (name.starts_with("onnx::") || kinds.isFoldedFromName(name));
  if (isGeneratedName(name) && facts->isUniform && !isWeight)
    return InitializerKind{Role::Constant,
                           std::string(isScalar ? "a scalar" : "of one value") +
                               " with a name of the exporter",
                           Evidence::Name};
  return guessParameter(name);
}

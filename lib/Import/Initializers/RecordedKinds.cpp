//===- RecordedKinds.cpp - initializer roles in metadata ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RecordedKinds.h"
#include "InitializerUses.h"
#include "SubgraphParameters.h"
#include "bppsa/Support/TextLists.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace bppsa;

static std::vector<std::string> parseNames(StringRef text) {
  std::vector<std::string> names;
  while (true) {
    size_t begin = text.find_first_of("'\"");
    if (begin == StringRef::npos)
      return names;
    size_t end = text.find(text[begin], begin + 1);
    if (end == StringRef::npos)
      return names;
    names.push_back(text.slice(begin + 1, end).str());
    text = text.drop_front(end + 1);
  }
}

static llvm::StringMap<std::string> parseSignature(StringRef text) {
  llvm::StringMap<std::string> kinds;
  for (StringRef line : llvm::split(text.split("# outputs").first, '\n')) {
    auto [before, target] = line.split(" target='");
    StringRef kind = before.rsplit(": ").second;
    if (!target.empty() && !kind.empty())
      kinds[target.split('\'').first] = kind.str();
  }
  return kinds;
}

RecordedKinds::RecordedKinds(const onnx::GraphProto &graph) {
  signature =
      parseSignature(getMetadata(graph, "pkg.torch.export.ExportedProgram.graph_signature"));
  addGraph(graph);
  visitSubgraphs(graph, [this](const onnx::GraphProto &inner) { addGraph(inner); });
}

void RecordedKinds::addGraph(const onnx::GraphProto &graph) {
  for (const onnx::ValueInfoProto &info : graph.value_info()) {
    StringRef kind = getMetadata(info, "pkg.torch.export.graph_signature.InputSpec.kind");
    StringRef folded = getMetadata(info, "pkg.onnxscript.optimizer.folded_from");
    if (!kind.empty() || !folded.empty())
      records[info.name()] = {kind.str(), parseNames(folded)};
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    computed.insert(input.name());
  for (const onnx::NodeProto &node : graph.node()) {
    computed.insert(node.output().begin(), node.output().end());
    addFused(node);
  }
}

/// Records the weights of a layer into which the exporter fused a BatchNormalization.
void RecordedKinds::addFused(const onnx::NodeProto &node) {
  if (!getMetadata(node, "pkg.onnxscript.rewriter.rule_name").contains("FuseBatchNorm"))
    return;
  std::string module = readModule(node).value_or(""), reason;
  for (StringRef parameter : {"weight", "bias"}) {
    std::string name = (module + (module.empty() ? "" : ".") + parameter).str();
    if (signature.contains(name))
      reason += (reason.empty() ? "fused with '" : " and '") + name + "'";
  }
  for (const std::string &input : llvm::drop_begin(node.input()))
    fused[input] = reason.empty() ? "fused with a BatchNormalization" : reason;
}

static bool isNumbered(StringRef name) {
  static const llvm::Regex pattern("^_?val_[0-9]+$");
  return pattern.match(name);
}

/// Returns the operation in a value name: "mul" for "mul_1".
static StringRef getOperation(StringRef value) {
  value.consume_back("_cast");
  StringRef stem = value.rtrim("0123456789");
  return stem.size() < value.size() && stem.ends_with("_") ? stem.drop_back() : value;
}

/// Returns whether a PyTorch operation creates constants or only moves all elements.
static bool keepsElements(StringRef operation) {
  static const llvm::StringSet<> operations = {
      "_to_copy", "_unsafe_view",  "alias",      "arange",    "cat",        "chunk",
      "clone",    "concat",        "contiguous", "detach",    "empty",      "flatten",
      "flip",     "full",          "full_like",  "getitem",   "lift_fresh", "lift_fresh_copy",
      "movedim",  "narrow",        "ones",       "ones_like", "permute",    "reshape",
      "roll",     "scalar_tensor", "select",     "slice",     "split",      "split_with_sizes",
      "squeeze",  "stack",         "swapaxes",   "t",         "to",         "transpose",
      "unbind",   "unflatten",     "unsqueeze",  "view",      "zeros",      "zeros_like"};
  return operations.contains(operation);
}

static bool isRecurrentParameter(StringRef name) {
  static const llvm::Regex pattern("(^|\\.)(weight|bias)_(ih|hh)_l[0-9]+(_reverse)?$");
  return pattern.match(name);
}

static std::string listSources(ArrayRef<StringRef> names) {
  auto quote = [](StringRef name) { return quoted(name); };
  return listSome(llvm::map_to_vector(names, quote), /*maxShown=*/3);
}

InitializerKind RecordedKinds::classifyFolded(StringRef name, ArrayRef<std::string> sources) const {
  SmallVector<StringRef> parameters, buffers, operations;
  auto addOperation = [&](StringRef value) {
    if (!isNumbered(value) && !computed.contains(value) && !keepsElements(getOperation(value)) &&
        !llvm::is_contained(operations, getOperation(value)))
      operations.push_back(getOperation(value));
  };
  for (StringRef source : sources) {
    auto kind = signature.find(source);
    if (kind == signature.end())
      addOperation(source);
    else
      (kind->second == "PARAMETER" ? parameters : buffers).push_back(source);
  }
  addOperation(name);
  // The exporter reorders the gates of recurrent weights without naming intermediate values.
  if (isNumbered(name) && llvm::any_of(parameters, isRecurrentParameter)) {
    llvm::erase_if(parameters, [](StringRef source) { return !isRecurrentParameter(source); });
    operations.clear();
  }
  using Role = InitializerKind::Role;
  if (parameters.empty())
    return {Role::Constant,
            buffers.empty() ? "folded from constants" : "folded from " + listSources(buffers)};
  if (operations.empty())
    return {Role::Parameter, "folded from " + listSources(parameters)};
  return {Role::Derived,
          "folded from " + listSources(parameters) + " by " + llvm::join(operations, ", ")};
}

std::optional<InitializerKind> RecordedKinds::find(StringRef name) const {
  using Role = InitializerKind::Role;
  if (auto layer = fused.find(name); layer != fused.end())
    return InitializerKind{Role::Derived, layer->second};
  auto found = records.find(name);
  std::string kind = found == records.end() ? "" : found->second.kind;
  if (auto listed = signature.find(name); kind.empty() && listed != signature.end())
    kind = listed->second;
  if (!kind.empty())
    return InitializerKind{kind == "PARAMETER" ? Role::Parameter : Role::Constant,
                           "recorded as " + kind};
  // Without a signature, parameters cannot be distinguished from buffers and constants.
  if (found == records.end() || found->second.foldedFrom.empty() || signature.empty())
    return std::nullopt;
  return classifyFolded(name, found->second.foldedFrom);
}

std::vector<std::string>
RecordedKinds::findMissingParameters(const llvm::StringSet<> &initializers) const {
  llvm::StringSet<> found;
  for (const auto &record : records)
    if (initializers.contains(record.getKey()))
      found.insert_range(record.getValue().foldedFrom);
  std::vector<std::string> lost;
  for (const auto &entry : signature) {
    auto isFused = [&](const auto &layer) {
      return StringRef(layer.getValue()).contains("'" + entry.getKey().str() + "'");
    };
    if (entry.getValue() == "PARAMETER" && !initializers.contains(entry.getKey()) &&
        !found.contains(entry.getKey()) && llvm::none_of(fused, isFused))
      lost.push_back(entry.getKey().str());
  }
  llvm::sort(lost);
  return lost;
}

bool RecordedKinds::isFoldedFromName(StringRef name) const {
  auto found = records.find(name);
  return found != records.end() && llvm::any_of(found->second.foldedFrom, [](StringRef source) {
           return source.contains('.');
         });
}

//===- UntieInitializers.cpp - an initializer for each use ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InspectInitializers.h"
#include "bppsa/Support/NamePattern.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

namespace {
class Untier {
public:
  explicit Untier(OnnxFile &file) : file(file), graph(*file.model.mutable_graph()) {
    collectNames(graph, names);
  }

  void untie(const onnx::TensorProto &tensor, ArrayRef<UseGroup> groups);
  void finish();

private:
  std::string makeName(StringRef name, const UseGroup &group);
  void copyRecord(StringRef name, StringRef copy);

  OnnxFile &file;
  onnx::GraphProto &graph;
  llvm::StringSet<> names, replaced, unread;
  std::vector<onnx::TensorProto> copies;
};
} // namespace

/// An alias becomes the name of its copy; other names must be new.
std::string Untier::makeName(StringRef name, const UseGroup &group) {
  const std::string &alias = group.front().alias;
  if (!alias.empty() && replaced.insert(alias).second)
    return alias;
  std::string wanted = getParameterName(name, group);
  if (!wanted.empty() && names.insert(wanted).second)
    return wanted;
  for (unsigned number = 2;; ++number)
    if (std::string next = (name + "." + Twine(number)).str(); names.insert(next).second)
      return next;
}

void Untier::copyRecord(StringRef name, StringRef copy) {
  auto find = [&](StringRef wanted) {
    return llvm::find_if(graph.value_info(),
                         [&](const onnx::ValueInfoProto &info) { return info.name() == wanted; });
  };
  auto info = find(name);
  if (info == graph.value_info().end() || find(copy) != graph.value_info().end())
    return;
  onnx::ValueInfoProto copied = *info;
  copied.set_name(copy.str());
  *graph.add_value_info() = std::move(copied);
}

void Untier::untie(const onnx::TensorProto &tensor, ArrayRef<UseGroup> groups) {
  bool hasOwn = groups.front().front().alias.empty();
  for (const UseGroup &group : groups.drop_front(hasOwn)) {
    std::string name = makeName(tensor.name(), group);
    for (const InitializerUse &use : group)
      use.node->set_input(use.input, name);
    copies.push_back(tensor);
    copies.back().set_name(name);
    copyRecord(tensor.name(), name);
  }
  bool isOutput = llvm::any_of(graph.output(), [&](const onnx::ValueInfoProto &output) {
    return output.name() == tensor.name();
  });
  if (!hasOwn && !isOutput)
    unread.insert(tensor.name());
}

void Untier::finish() {
  for (int i = graph.node_size(); i-- > 0;)
    if (const onnx::NodeProto &node = graph.node(i);
        node.op_type() == "Identity" && replaced.contains(node.output(0)))
      graph.mutable_node()->DeleteSubrange(i, 1);
  for (onnx::TensorProto &copy : copies)
    addInitializer(file.model, std::move(copy));
  for (int i = graph.initializer_size(); i-- > 0;)
    if (unread.contains(graph.initializer(i).name()))
      graph.mutable_initializer()->DeleteSubrange(i, 1);
  for (int i = graph.input_size(); i-- > 0;)
    if (unread.contains(graph.input(i).name()))
      graph.mutable_input()->DeleteSubrange(i, 1);
}

static SmallVector<UseGroup> separate(ArrayRef<UseGroup> groups) {
  SmallVector<UseGroup> separated;
  for (const UseGroup &group : groups)
    for (const InitializerUse &use : group)
      separated.push_back({use});
  return separated;
}

FailureOr<std::string> bppsa::untieInitializers(llvm::MemoryBufferRef buffer, MLIRContext *context,
                                                StringRef pattern) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  std::string wrong;
  llvm::Regex regex = compilePattern("--untie", pattern, wrong);
  if (!wrong.empty())
    return emitError(file->location) << wrong;
  auto uses = collectInitializerUses(*file->model.mutable_graph());
  Untier untier(*file);
  bool matched = pattern.empty();
  for (const onnx::TensorProto &tensor : file->model.graph().initializer()) {
    ArrayRef<UseGroup> groups = uses[tensor.name()];
    if (pattern.empty()) {
      FailureOr<bool> isMerged = looksMerged(*file, tensor, groups);
      if (failed(isMerged))
        return failure();
      if (*isMerged)
        untier.untie(tensor, groups);
    } else if (SmallVector<UseGroup> separated = separate(groups);
               separated.size() > 1 && regex.match(tensor.name())) {
      matched = true;
      untier.untie(tensor, separated);
    }
  }
  if (!matched)
    return emitError(file->location) << "--untie='" << pattern
                                     << "' matches no float initializer that is used more than "
                                        "once";
  untier.finish();
  return serializeOnnxFile(*file, "without shared initializers the model");
}

//===- InitializerUses.cpp - who reads an initializer ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InitializerUses.h"
#include "InspectInitializers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

/// The module in `['', 'layers.1', 'layers.1.norm1', 'layer_norm']`, which the exporter of PyTorch
/// writes: the last but one, before the operation.
static std::optional<std::string> readNameScopes(StringRef scopes) {
  SmallVector<StringRef> names;
  scopes.split(names, '\'');
  // Quotes enclose every second one.
  size_t count = names.size() / 2;
  if (count < 2)
    return std::nullopt;
  return names[2 * (count - 2) + 1].str();
}

/// The components of `/layers.1/norm1/LayerNormalization`, as the older exporter names nodes,
/// before the operation.
static std::optional<SmallVector<StringRef>> splitNodePath(StringRef name) {
  if (!name.consume_front("/"))
    return std::nullopt;
  SmallVector<StringRef> components;
  name.split(components, '/');
  components.pop_back();
  return components;
}

namespace {
class Collector {
public:
  explicit Collector(onnx::GraphProto &graph);

  std::map<std::string, SmallVector<UseGroup>> groups;

private:
  void visit(onnx::GraphProto &graph, const llvm::StringSet<> &hidden);
  void add(onnx::NodeProto &node, int input, StringRef name);
  UseGroup &getGroup(SmallVector<UseGroup> &groups, const InitializerUse &use);
  std::optional<std::string> findModule(const onnx::NodeProto &node) const;
  std::string findRole(const InitializerUse &use, StringRef initializer) const;

  /// The initializer that a name stands for: itself, or what an `Identity` reads.
  llvm::StringMap<std::string> meanings;
  /// The components of the paths of all nodes.
  llvm::StringSet<> components;
};
} // namespace

Collector::Collector(onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (tensor.data_type() == onnx::TensorProto::FLOAT)
      meanings[tensor.name()] = tensor.name();
  for (const onnx::NodeProto &node : graph.node())
    if (auto path = splitNodePath(node.name()))
      components.insert_range(*path);
  visit(graph, {});
  for (auto &[name, list] : groups) {
    SmallVector<UseGroup> ordered;
    for (bool hasAlias : {false, true})
      for (const UseGroup &group : list)
        if (group.front().alias.empty() != hasAlias)
          ordered.push_back(group);
    list = std::move(ordered);
  }
}

std::optional<std::string> Collector::findModule(const onnx::NodeProto &node) const {
  if (auto module = readNameScopes(getMetadata(node, "pkg.torch.onnx.name_scopes")))
    return module;
  auto path = splitNodePath(node.name());
  if (!path)
    return std::nullopt;
  // The third call of the module `norm` is called `norm_2`, but so may be another module.
  for (StringRef &component : *path) {
    auto [module, number] = component.rsplit('_');
    if (!number.empty() && llvm::all_of(number, llvm::isDigit) && components.contains(module))
      component = module;
  }
  return llvm::join(*path, ".");
}

std::string Collector::findRole(const InitializerUse &use, StringRef initializer) const {
  StringRef name = use.node->name();
  if (!isInventedName(initializer) || !use.module || !name.starts_with("/"))
    return "";
  std::string role = *use.module + name.substr(name.rfind('/')).str();
  for (const std::string &operand : use.node->input())
    if (auto meaning = meanings.find(operand); meaning != meanings.end())
      role += " " + meaning->second;
  return role;
}

UseGroup &Collector::getGroup(SmallVector<UseGroup> &groups, const InitializerUse &use) {
  bool isKnown = !use.alias.empty() || use.module;
  auto found = llvm::find_if(groups, [&](const UseGroup &group) {
    const InitializerUse &first = group.front();
    if (!use.role.empty() && first.role == use.role)
      return true;
    return isKnown && first.alias == use.alias &&
           (!use.alias.empty() || first.module == use.module);
  });
  return found == groups.end() ? groups.emplace_back() : *found;
}

void Collector::add(onnx::NodeProto &node, int input, StringRef name) {
  auto meaning = meanings.find(name);
  if (meaning == meanings.end())
    return;
  std::string alias = name == meaning->second ? "" : name.str();
  InitializerUse use{&node, input, alias, findModule(node), ""};
  use.role = findRole(use, meaning->second);
  getGroup(groups[meaning->second], use).push_back(std::move(use));
}

/// Visits the nodes of `graph`. What graphs inside of nodes define hides names of the outer one.
void Collector::visit(onnx::GraphProto &graph, const llvm::StringSet<> &hidden) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    bool isIdentity = node.op_type() == "Identity" && node.input_size() == 1 &&
                      node.output_size() == 1 && !hidden.contains(node.input(0));
    if (auto meaning = isIdentity ? meanings.find(node.input(0)) : meanings.end();
        meaning != meanings.end() && hidden.empty()) {
      std::string initializer = meaning->second;
      meanings[node.output(0)] = std::move(initializer);
      continue;
    }
    for (int i = 0; i < node.input_size(); ++i)
      if (!hidden.contains(node.input(i)))
        add(node, i, node.input(i));
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (!attribute.has_g())
        continue;
      onnx::GraphProto &inner = *attribute.mutable_g();
      llvm::StringSet<> names = hidden;
      // An empty name hides nothing and marks graphs inside of nodes.
      names.insert("");
      for (const onnx::ValueInfoProto &input : inner.input())
        names.insert(input.name());
      for (const onnx::TensorProto &tensor : inner.initializer())
        names.insert(tensor.name());
      for (const onnx::NodeProto &other : inner.node())
        for (const std::string &output : other.output())
          names.insert(output);
      visit(inner, names);
    }
  }
}

std::map<std::string, SmallVector<UseGroup>>
bppsa::collectInitializerUses(onnx::GraphProto &graph) {
  return std::move(Collector(graph).groups);
}

bool bppsa::isCalledModule(const UseGroup &group) {
  return llvm::any_of(group,
                      [&](const InitializerUse &use) { return use.alias != group.front().alias; });
}

std::string bppsa::getParameterName(StringRef initializer, const UseGroup &group) {
  const InitializerUse &use = group.front();
  if (!use.alias.empty() || !use.module)
    return use.alias;
  StringRef last = initializer.substr(initializer.rfind('.') + 1);
  return (*use.module + (use.module->empty() ? "" : ".") + last).str();
}

void bppsa::collectNames(const onnx::GraphProto &graph, llvm::StringSet<> &names) {
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      names.insert(output);
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectNames(attribute.g(), names);
  }
}

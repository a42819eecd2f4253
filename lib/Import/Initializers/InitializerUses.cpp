//===- InitializerUses.cpp - uses of initializers -------------------------===//
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

std::optional<std::string> bppsa::readModule(const onnx::NodeProto &node) {
  // Example: `['', 'layers.1', 'layers.1.norm1', 'layer_norm']`.
  StringRef scopes = getMetadata(node, "pkg.torch.onnx.name_scopes");
  SmallVector<StringRef> names;
  scopes.split(names, '\'');
  size_t count = names.size() / 2;
  if (count < 2)
    return std::nullopt;
  return names[2 * (count - 2) + 1].str();
}

/// Splits a name of the older exporter, such as `/layers.1/norm1/LayerNormalization`, into
/// components without the operation.
static std::optional<SmallVector<StringRef>> splitNodePath(StringRef name) {
  if (!name.consume_front("/"))
    return std::nullopt;
  SmallVector<StringRef> components;
  name.split(components, '/');
  components.pop_back();
  return components;
}

/// Returns the module parameter that an input of a normalization node holds. An initializer with
/// two slots was merged.
static StringRef getSlot(const onnx::NodeProto &node, int input) {
  constexpr StringRef slots[] = {"", "weight", "bias", "running_mean", "running_var"};
  StringRef op = node.op_type();
  int numSlots =
      op == "BatchNormalization" ? 5
      : op == "LayerNormalization" || op == "InstanceNormalization" || op == "GroupNormalization"
          ? 3
          : 0;
  return input < numSlots ? slots[input] : "";
}

bool bppsa::isStatistic(const InitializerUse &use) {
  return StringRef(use.slot).starts_with("running_");
}

namespace {
class Collector {
public:
  explicit Collector(onnx::GraphProto &graph);

  std::map<std::string, SmallVector<UseGroup>> groups;

private:
  void visit(onnx::GraphProto &graph, const llvm::StringSet<> &hidden);
  void add(onnx::NodeProto &node, int input, StringRef name);
  void orderGroups(StringRef name, SmallVector<UseGroup> &groups) const;
  UseGroup &getGroup(SmallVector<UseGroup> &groups, const InitializerUse &use);
  std::optional<std::string> findModule(const onnx::NodeProto &node) const;
  std::string findRole(const InitializerUse &use, StringRef initializer) const;

  llvm::StringMap<std::string> meanings;
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
  for (auto &[name, list] : groups)
    orderGroups(name, list);
}

/// Moves the group that keeps the initializer to the front, preferably the one that has its name.
void Collector::orderGroups(StringRef name, SmallVector<UseGroup> &groups) const {
  auto getRank = [&](const UseGroup &group) {
    return !group.front().alias.empty() ? 2 : getParameterName(name, group) != name;
  };
  SmallVector<UseGroup> ordered;
  for (int rank : {0, 1, 2})
    for (const UseGroup &group : groups)
      if (getRank(group) == rank)
        ordered.push_back(group);
  groups = std::move(ordered);
}

std::optional<std::string> Collector::findModule(const onnx::NodeProto &node) const {
  if (auto module = readModule(node))
    return module;
  auto path = splitNodePath(node.name());
  if (!path)
    return std::nullopt;
  // The third call of module `norm` is named `norm_2`, but another module may have the same name.
  for (StringRef &component : *path) {
    auto [module, number] = component.rsplit('_');
    if (!number.empty() && llvm::all_of(number, llvm::isDigit) && components.contains(module))
      component = module;
  }
  return llvm::join(*path, ".");
}

std::string Collector::findRole(const InitializerUse &use, StringRef initializer) const {
  StringRef name = use.node->name();
  if (!isGeneratedName(initializer) || !use.module || !name.starts_with("/"))
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
    bool haveDistinctSlots = !first.slot.empty() && !use.slot.empty() && first.slot != use.slot;
    if (haveDistinctSlots || isStatistic(first) != isStatistic(use))
      return false;
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
  InitializerUse use{&node, input, alias, findModule(node), getSlot(node, input).str(), ""};
  use.role = findRole(use, meaning->second);
  getGroup(groups[meaning->second], use).push_back(std::move(use));
}

/// Visits the nodes of `graph`. Names defined in subgraphs hide names of the outer graph.
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

bool bppsa::isSharedModuleCall(const UseGroup &group) {
  return llvm::any_of(group,
                      [&](const InitializerUse &use) { return use.alias != group.front().alias; });
}

std::string bppsa::getParameterName(StringRef initializer, const UseGroup &group) {
  const InitializerUse &use = group.front();
  if (!use.alias.empty() || !use.module)
    return use.alias;
  auto named = llvm::find_if(group, [](const InitializerUse &use) { return !use.slot.empty(); });
  StringRef last = named != group.end() ? StringRef(named->slot)
                                        : initializer.substr(initializer.rfind('.') + 1);
  return (*use.module + (use.module->empty() ? "" : ".") + last).str();
}

void bppsa::addInitializer(onnx::ModelProto &model, onnx::TensorProto tensor) {
  onnx::GraphProto &graph = *model.mutable_graph();
  onnx::TensorProto &added = *graph.add_initializer();
  added = std::move(tensor);
  // Before IR version 4, initializers must also be graph inputs.
  if (model.ir_version() >= 4)
    return;
  onnx::ValueInfoProto &info = *graph.add_input();
  info.set_name(added.name());
  onnx::TypeProto::Tensor &type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(added.data_type());
  for (int64_t size : added.dims())
    type.mutable_shape()->add_dim()->set_dim_value(size);
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

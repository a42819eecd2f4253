//===- InitializerUses.h - uses of initializers -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exporters share one initializer between parameters of equal value. This file finds the nodes that
// read an initializer and the framework module of each node.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H

#include "../Model/OnnxFile.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <optional>

namespace bppsa {

/// An input of a node, in the main graph or a subgraph, that is an initializer.
struct InitializerUse {
  onnx::NodeProto *node;
  int input;
  /// The output of the `Identity` through which the initializer is read; empty if it is read
  /// directly.
  std::string alias;
  /// The module that the exporter recorded for the node, such as `layers.1.norm1`; empty for the
  /// outermost module.
  std::optional<std::string> module;
  /// The module parameter that corresponds to an input of a normalization node, such as
  /// `running_var`; empty for other nodes.
  std::string slot;
  /// A key shared by the calls of one module, for exporters that give each call a separate name for
  /// a weight in another layout: the module, the number of the node within it, and all initializers
  /// of the node. Empty if names are parameter names.
  std::string role;
};

/// Uses that correspond to one parameter of the framework, judging by the file.
using UseGroup = llvm::SmallVector<InitializerUse>;

/// Returns the uses of each used float initializer of `graph`, by name. Uses are grouped by alias,
/// module or role; a use without this information is a separate group. If the initializer is read
/// directly, the group of these uses is the first.
std::map<std::string, llvm::SmallVector<UseGroup>> collectInitializerUses(onnx::GraphProto &graph);

/// Returns whether `use` reads running statistics of a BatchNormalization.
bool isStatistic(const InitializerUse &use);

/// Returns whether the uses of `group` are calls of one module under several names.
bool isCalledModule(const UseGroup &group);

/// Returns the name for an initializer that serves the uses of `group`: the name of the alias, or
/// the module joined with the last component of `initializer`; empty if neither is known.
std::string getParameterName(llvm::StringRef initializer, const UseGroup &group);

/// Returns the value of `key` in the metadata of a node or a value, or an empty string.
template <typename Proto> llvm::StringRef getMetadata(const Proto &proto, llvm::StringRef key) {
  for (const onnx::StringStringEntryProto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

void addInitializer(onnx::ModelProto &model, onnx::TensorProto tensor);

/// Returns the module that PyTorch's newer exporter recorded for a node, such as `layers.1.norm1`.
std::optional<std::string> readModule(const onnx::NodeProto &node);

/// Adds every name defined in `graph` and its subgraphs to `names`.
void collectNames(const onnx::GraphProto &graph, llvm::StringSet<> &names);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H

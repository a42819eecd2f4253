//===- InitializerUses.h - who reads an initializer -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exporters keep one initializer for parameters of equal value. This says which nodes read it, and
// for which module of the framework each of them stands.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H

#include "../Model/OnnxFile.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <optional>

namespace bppsa {

/// An input of a node, in the main graph or inside of a node of it, that is an initializer.
struct InitializerUse {
  onnx::NodeProto *node;
  int input;
  /// The output of the `Identity` through which the initializer is read; empty where it is read
  /// by its own name.
  std::string alias;
  /// The module that the exporter recorded for the node, as in `layers.1.norm1`; empty for the
  /// outermost one.
  std::optional<std::string> module;
  /// The parameter of the module that an input of a normalization node is, such as `running_var`;
  /// empty for other nodes.
  std::string slot;
  /// What the calls of one module share in this place, where the exporter gives each call a name of
  /// its own for a weight in another layout: the module, the number of the node in it, and all
  /// initializers of the node. Empty where names are those of parameters.
  std::string role;
};

/// Uses that belong together: one parameter of the framework, as far as the file tells.
using UseGroup = llvm::SmallVector<InitializerUse>;

/// The uses of each float initializer of `graph` that is used, by its name. Those through one alias
/// are a group, those of one module, and those of one role; a use of which nothing is known is a
/// group of its own. Where the initializer is read by its own name, that group is the first.
std::map<std::string, llvm::SmallVector<UseGroup>> collectInitializerUses(onnx::GraphProto &graph);

/// Whether `use` reads running statistics of a BatchNormalization.
bool isStatistic(const InitializerUse &use);

/// Whether the uses of `group` are calls of one module by several names.
bool isCalledModule(const UseGroup &group);

/// The name that an initializer for the uses of `group` should have: that of the alias, or of the
/// module with the last component of `initializer`; empty where neither is known.
std::string getParameterName(llvm::StringRef initializer, const UseGroup &group);

/// The value of `key` in the metadata of a node or a value; empty where there is none.
template <typename Proto> llvm::StringRef getMetadata(const Proto &proto, llvm::StringRef key) {
  for (const onnx::StringStringEntryProto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

/// Adds `tensor` to the initializers of the main graph.
void addInitializer(onnx::ModelProto &model, onnx::TensorProto tensor);

/// The module that the newer exporter of PyTorch has recorded for a node, as in `layers.1.norm1`.
std::optional<std::string> readModule(const onnx::NodeProto &node);

/// Adds every name that `graph` and the graphs inside of its nodes define to `names`.
void collectNames(const onnx::GraphProto &graph, llvm::StringSet<> &names);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H

//===- InitializerUses.h - uses of initializers -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Finds the nodes that read an initializer, because exporters share one between parameters of equal
// value.
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
  /// The module recorded for the node, such as `layers.1.norm1`; empty for the outermost.
  std::optional<std::string> module;
  /// The parameter that an input of a normalization node holds, such as `running_var`.
  std::string slot;
  /// A key shared by the calls of one module, for exporters that name a weight separately for each
  /// call.
  std::string role;
};

/// Uses that correspond to one parameter of the framework.
using UseGroup = llvm::SmallVector<InitializerUse>;

/// Returns the uses of each float initializer, grouped by alias, module or role; direct uses first.
std::map<std::string, llvm::SmallVector<UseGroup>> collectInitializerUses(onnx::GraphProto &graph);

bool isStatistic(const InitializerUse &use);

/// Returns whether the uses of `group` are calls of one module under several names.
bool isSharedModuleCall(const UseGroup &group);

/// Returns the name of the parameter that `group` uses: its alias, or the module joined with the
/// last component of `initializer`.
std::string getParameterName(llvm::StringRef initializer, const UseGroup &group);

template <typename Proto> llvm::StringRef getMetadata(const Proto &proto, llvm::StringRef key) {
  for (const onnx::StringStringEntryProto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return "";
}

void addInitializer(onnx::ModelProto &model, onnx::TensorProto tensor);

std::optional<std::string> readModule(const onnx::NodeProto &node);

void collectNames(const onnx::GraphProto &graph, llvm::StringSet<> &names);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INITIALIZERUSES_H

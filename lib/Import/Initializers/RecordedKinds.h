//===- RecordedKinds.h - what a file records of initializers ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// PyTorch's newer exporter (torch.onnx.export with dynamo=True) records the kind of each tensor of
// the module: in the metadata of initializers and, for those that have been folded, in the
// signature of the exported program. It also records the values that an initializer was folded
// from.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_RECORDEDKINDS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_RECORDEDKINDS_H

#include "../Model/OnnxFile.h"
#include "bppsa/Import/Initializers.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

class RecordedKinds {
public:
  explicit RecordedKinds(const onnx::GraphProto &graph);

  /// Nothing where the file does not record it.
  std::optional<InitializerKind> find(llvm::StringRef initializer) const;
  /// Whether the file records that the module has the parameter `name`.
  bool isParameter(llvm::StringRef name) const { return signature.lookup(name) == "PARAMETER"; }
  /// Whether the file lists all parameters of the exported program.
  bool hasSignature() const { return !signature.empty(); }
  /// The parameters of the exported program that are neither among `initializers` nor folded into
  /// one of them, such as a scale of ones that the exporter has left out. In alphabetical order.
  std::vector<std::string> findLost(const llvm::StringSet<> &initializers) const;
  /// Whether an initializer was folded from a value whose name is that of a parameter or buffer of
  /// a submodule. For files without a signature.
  bool isFoldedFromName(llvm::StringRef initializer) const;

private:
  struct Record {
    std::string kind;
    std::vector<std::string> foldedFrom;
  };

  void addGraph(const onnx::GraphProto &graph);
  void addFused(const onnx::NodeProto &node);
  InitializerKind classifyFolded(llvm::StringRef name, llvm::ArrayRef<std::string> sources) const;

  /// By the names of values.
  llvm::StringMap<Record> records;
  /// The kinds of the tensors of the module, by their names in it.
  llvm::StringMap<std::string> signature;
  /// Why the exporter has computed weights of layers that it has fused.
  llvm::StringMap<std::string> fused;
  /// Inputs, and outputs of nodes: the exporter has folded at most their shapes.
  llvm::StringSet<> computed;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_RECORDEDKINDS_H

//===- RecordedKinds.h - initializer roles in metadata ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// PyTorch's newer exporter (torch.onnx.export with dynamo=True) records the kind of each tensor of
// the module: in the metadata of initializers and, for folded tensors, in the signature of the
// exported program. It also records the sources of folded initializers.
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

  /// Returns nullopt if the file does not record the kind.
  std::optional<InitializerKind> find(llvm::StringRef initializer) const;
  /// Returns whether the file records that the module has the parameter `name`.
  bool isParameter(llvm::StringRef name) const { return signature.lookup(name) == "PARAMETER"; }
  /// Returns whether the file lists all parameters of the exported program.
  bool hasSignature() const { return !signature.empty(); }
  /// Returns, in alphabetical order, the parameters of the exported program that are neither in
  /// `initializers` nor folded into one of them, such as a scale of ones that the exporter removed.
  std::vector<std::string> findLost(const llvm::StringSet<> &initializers) const;
  /// Returns whether an initializer was folded from a value with the name of a parameter or buffer
  /// of a submodule. Intended for files without a signature.
  bool isFoldedFromName(llvm::StringRef initializer) const;

private:
  struct Record {
    std::string kind;
    std::vector<std::string> foldedFrom;
  };

  void addGraph(const onnx::GraphProto &graph);
  void addFused(const onnx::NodeProto &node);
  InitializerKind classifyFolded(llvm::StringRef name, llvm::ArrayRef<std::string> sources) const;

  /// By value name.
  llvm::StringMap<Record> records;
  /// The kinds of the tensors of the module, by their names in the module.
  llvm::StringMap<std::string> signature;
  /// The reason why the exporter computed the weights of a fused layer.
  llvm::StringMap<std::string> fused;
  /// Inputs and outputs of nodes. The exporter folds at most their shapes.
  llvm::StringSet<> computed;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_RECORDEDKINDS_H

//===- RecordedKinds.h - initializer roles in metadata ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// PyTorch's newer exporter (torch.onnx.export with dynamo=True) records the kind of each tensor and
// the sources of folded initializers.
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
  bool isParameter(llvm::StringRef name) const { return signature.lookup(name) == "PARAMETER"; }
  bool hasSignature() const { return !signature.empty(); }
  /// Returns the parameters that are neither in `initializers` nor folded into one, such as a scale
  /// of ones.
  std::vector<std::string> findMissingParameters(const llvm::StringSet<> &initializers) const;
  /// Returns whether an initializer was folded from a value with the name of a parameter or buffer
  /// of a submodule.
  bool isFoldedFromName(llvm::StringRef initializer) const;

private:
  struct Record {
    std::string kind;
    std::vector<std::string> foldedFrom;
  };

  void addGraph(const onnx::GraphProto &graph);
  void addFused(const onnx::NodeProto &node);
  InitializerKind classifyFolded(llvm::StringRef name, llvm::ArrayRef<std::string> sources) const;

  llvm::StringMap<Record> records;
  llvm::StringMap<std::string> signature;
  /// The reason why the exporter computed the weights of a fused layer.
  llvm::StringMap<std::string> fused;
  /// Inputs and outputs of nodes. The exporter folds at most their shapes.
  llvm::StringSet<> computed;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_RECORDEDKINDS_H

//===- InspectInitializers.h - inspect initializer values -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H

#include "InitializerUses.h"
#include "bppsa/Import/Initializers.h"

namespace bppsa {

struct ValueFacts {
  int64_t count = 0;
  bool isUniform = true, isFinite = true;
};

mlir::FailureOr<ValueFacts> readFacts(const OnnxFile &file, const onnx::TensorProto &tensor);

/// Returns whether exporters generate names like `name` for constants.
bool isGeneratedName(llvm::StringRef name);

/// Returns whether an exporter seems to have merged several parameters into `tensor`, whose uses
/// are `groups`.
mlir::FailureOr<bool> looksMerged(const OnnxFile &file, const onnx::TensorProto &tensor,
                                  llvm::ArrayRef<UseGroup> groups);

/// Returns the pairs of float matrices in `tensors`, in order, that are bitwise transposes of each
/// other.
mlir::FailureOr<std::vector<std::pair<std::string, std::string>>>
findTransposed(const OnnxFile &file, llvm::ArrayRef<const onnx::TensorProto *> tensors);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H

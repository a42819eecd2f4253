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

/// Emits an error if the values cannot be read.
mlir::FailureOr<ValueFacts> readFacts(const OnnxFile &file, const onnx::TensorProto &tensor);

/// Returns whether exporters generate names like `name` for constants. Generated names of PyTorch's
/// older exporter, such as `onnx::GRU_5`, are also used for weights in another layout.
bool isInventedName(llvm::StringRef name);

/// Returns whether an exporter seems to have merged several parameters into `tensor`, whose uses
/// are `groups`. Emits an error if its values cannot be read.
mlir::FailureOr<bool> looksMerged(const OnnxFile &file, const onnx::TensorProto &tensor,
                                  llvm::ArrayRef<UseGroup> groups);

/// Returns the pairs of float matrices in `tensors`, in order, that are bitwise transposes of each
/// other. Emits an error if values cannot be read.
mlir::FailureOr<std::vector<std::pair<std::string, std::string>>>
findTransposed(const OnnxFile &file, llvm::ArrayRef<const onnx::TensorProto *> tensors);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H

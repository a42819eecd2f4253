//===- InspectInitializers.h - what exporters make of parameters -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H

#include "InitializerUses.h"
#include "bppsa/Import/Initializers.h"

namespace bppsa {

/// What rules ask of the values of an initializer.
struct ValueFacts {
  int64_t count = 0;
  bool isUniform = true, isFinite = true;
};

/// Fails after an error if the values cannot be read.
mlir::FailureOr<ValueFacts> readFacts(const OnnxFile &file, const onnx::TensorProto &tensor);

/// Whether exporters invent `name` for constants. Those of PyTorch's older exporter, `onnx::GRU_5`,
/// are weights in another layout as well.
bool isInventedName(llvm::StringRef name);

/// Whether an exporter seems to have made `tensor`, which `groups` use, of several parameters.
/// Fails after an error where its values cannot be read.
mlir::FailureOr<bool> looksMerged(const OnnxFile &file, const onnx::TensorProto &tensor,
                                  llvm::ArrayRef<UseGroup> groups);

/// The pairs of float matrices among `tensors` of which one is the other transposed, bit for bit,
/// in the order of `tensors`. Fails after an error where values cannot be read.
mlir::FailureOr<std::vector<std::pair<std::string, std::string>>>
findTransposed(const OnnxFile &file, llvm::ArrayRef<const onnx::TensorProto *> tensors);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_INSPECTINITIALIZERS_H

//===- TrainingMode.h - switch nodes to training mode -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Training programs need both modes of BatchNormalization and Dropout, and write models for
// inference.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_IMPORT_TRAININGMODE_H
#define BPPSA_IMPORT_TRAININGMODE_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>

namespace bppsa {

/// Returns the model in `buffer` with `training_mode` set for its BatchNormalization and Dropout
/// nodes, or only for those whose names match a nonempty regular expression `pattern`. Emits an
/// error if no node matches or the opset lacks `training_mode`.
mlir::FailureOr<std::string> setTrainingMode(llvm::MemoryBufferRef buffer,
                                             mlir::MLIRContext *context, llvm::StringRef pattern);

/// Returns the model in `buffer` with `training_mode` cleared where inference allows it, or nullopt
/// if no node changes.
mlir::FailureOr<std::optional<std::string>> makeInferenceForm(llvm::MemoryBufferRef buffer,
                                                              mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_IMPORT_TRAININGMODE_H

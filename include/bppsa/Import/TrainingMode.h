//===- TrainingMode.h - switch nodes to training mode -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// BatchNormalization and Dropout have an attribute or input that selects training mode. Training
// programs need both modes and write models for inference.
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
/// nodes. A nonempty `pattern` is a regular expression that restricts this to nodes with matching
/// names. Emits an error if no node matches, the pattern is invalid, or the opset lacks
/// `training_mode`.
mlir::FailureOr<std::string> setTrainingMode(llvm::MemoryBufferRef buffer,
                                             mlir::MLIRContext *context, llvm::StringRef pattern);

/// Returns the model in `buffer` with `training_mode` cleared for Dropout nodes and for
/// BatchNormalization nodes whose running statistics are initializers, or nullopt if no node
/// changes.
mlir::FailureOr<std::optional<std::string>> makeInferenceForm(llvm::MemoryBufferRef buffer,
                                                              mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_IMPORT_TRAININGMODE_H

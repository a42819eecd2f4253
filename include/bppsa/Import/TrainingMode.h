//===- TrainingMode.h - nodes that behave otherwise in training -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// BatchNormalization and Dropout say in the file whether they behave as in training. A program
// needs both behaviours of them, and writes models that are used for inference.
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

/// The bytes of the model in `buffer` with `training_mode` set for its BatchNormalization and
/// Dropout nodes; with a `pattern`, a regular expression, for those with a name that matches. Fails
/// after an error where there is none, the pattern is wrong or the opset lacks `training_mode`.
mlir::FailureOr<std::string> setTrainingMode(llvm::MemoryBufferRef buffer,
                                             mlir::MLIRContext *context, llvm::StringRef pattern);

/// The bytes of the model in `buffer` without `training_mode` where it is set for
/// BatchNormalization nodes whose running statistics are initializers, and for Dropout nodes;
/// nothing where no node is changed.
mlir::FailureOr<std::optional<std::string>> makeInferenceForm(llvm::MemoryBufferRef buffer,
                                                              mlir::MLIRContext *context);

} // namespace bppsa

#endif // BPPSA_IMPORT_TRAININGMODE_H

//===- Verifiers.h - what verifiers share -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H
#define BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Checks that a capture of type `type` enters the body as a vector, or tensor in
/// graph form, of its own static shape.
llvm::LogicalResult verifyCapture(mlir::Operation *op, mlir::Type type, mlir::Type bodyType);

/// Checks that `body` has one argument for each sequence, state and capture.
llvm::LogicalResult verifyArgumentCount(mlir::Operation *op, mlir::Block &body, size_t expected);

/// Checks what only loops in graph form must keep to: tensors on all borders of `body`, no
/// destinations and lanes yet, no side effects.
llvm::LogicalResult verifyGraphForm(mlir::Operation *op, mlir::Block &body,
                                    mlir::ValueRange destinations, std::optional<int64_t> lanes);

/// Checks that the numbers of steps and samples are known: from `sequences`, called `what`, or from
/// `states` and, in graph form only, `steps`.
llvm::LogicalResult verifySteps(mlir::Operation *op, mlir::Block &body, mlir::ValueRange sequences,
                                const char *what, mlir::ValueRange states, mlir::Value steps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H

//===- Verifiers.h - what verifiers share -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H
#define BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// Checks that a capture of type `type` enters the body as a vector of its own
/// static shape.
llvm::LogicalResult verifyCapture(mlir::Operation *op, mlir::Type type, mlir::Type bodyType);

/// Checks that `body` has one argument for each sequence, state and capture.
llvm::LogicalResult verifyArgumentCount(mlir::Operation *op, mlir::Block &body, size_t expected);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_H

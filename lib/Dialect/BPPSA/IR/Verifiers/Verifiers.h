//===- Verifiers.h - what verifiers share -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H
#define BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Checks that `op` can have the mapping that `attribute` is.
llvm::LogicalResult verifyMapping(mlir::Operation *op, mlir::NamedAttribute attribute);

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

/// Checks that `number`, of a term, is -1 or that of one of `operands`, called `what`.
llvm::LogicalResult verifyFactorNumber(mlir::Operation *op, llvm::StringRef what, int64_t number,
                                       mlir::ValueRange operands);

/// Checks the states and the matrix of `term`, a part of a Jacobian with respect to states of
/// sizes `states`; `matrices` are called `what`.
llvm::LogicalResult verifyTerm(mlir::Operation *op, TermAttr term, llvm::ArrayRef<int64_t> states,
                               llvm::StringRef what, mlir::ValueRange matrices);

/// Checks the structure and the terms that `chain` has of its link.
llvm::LogicalResult verifyLinkStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

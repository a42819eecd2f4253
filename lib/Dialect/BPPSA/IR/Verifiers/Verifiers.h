//===- Verifiers.h - shared verifiers ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H
#define BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Checks that `op` may have the mapping `attribute`.
llvm::LogicalResult verifyMapping(mlir::Operation *op, mlir::NamedAttribute attribute);

/// Checks that a capture of type `type` enters the body as a vector, or tensor in graph form, of
/// the same static shape.
llvm::LogicalResult verifyCapture(mlir::Operation *op, mlir::Type type, mlir::Type bodyType);

/// Checks that `body` has one argument for each sequence, state and capture.
llvm::LogicalResult verifyArgumentCount(mlir::Operation *op, mlir::Block &body, size_t expected);

/// Checks the requirements of graph form: all arguments and results of `body` are tensors, there
/// are no destinations or lanes, and `body` has no side effects.
llvm::LogicalResult verifyGraphForm(mlir::Operation *op, mlir::Block &body,
                                    mlir::ValueRange destinations, std::optional<int64_t> lanes);

/// Checks that the number of steps and samples can be derived from `sequences` (called `what` in
/// diagnostics), `states` and, in graph form, `steps`.
llvm::LogicalResult verifySteps(mlir::Operation *op, mlir::Block &body, mlir::ValueRange sequences,
                                const char *what, mlir::ValueRange states, mlir::Value steps);

/// Checks that `number`, an index in a term, is -1 or selects one of `operands`. Diagnostics call
/// the operands `what`.
llvm::LogicalResult verifyFactorNumber(mlir::Operation *op, llvm::StringRef what, int64_t number,
                                       mlir::ValueRange operands);

/// Checks the states and the matrix of `term` in a Jacobian with respect to states of sizes
/// `states`. Diagnostics call the matrices `what`.
llvm::LogicalResult verifyTerm(mlir::Operation *op, TermAttr term, llvm::ArrayRef<int64_t> states,
                               llvm::StringRef what, mlir::ValueRange matrices);

/// Checks the structure and terms attached to `chain`.
llvm::LogicalResult verifyLinkStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

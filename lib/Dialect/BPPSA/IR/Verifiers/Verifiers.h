//===- Verifiers.h - shared verifiers ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H
#define BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

llvm::LogicalResult verifyMapping(mlir::Operation *op, mlir::NamedAttribute attribute);

/// The capture must enter the body as a vector, or tensor in graph form, of the same static shape.
llvm::LogicalResult verifyCapture(mlir::Operation *op, mlir::Type type, mlir::Type bodyType);

llvm::LogicalResult verifyArgumentCount(mlir::Operation *op, mlir::Block &body, size_t expected);

/// All arguments and results are tensors, without destinations, lanes or side effects.
llvm::LogicalResult verifyGraphForm(mlir::Operation *op, mlir::Block &body,
                                    mlir::ValueRange destinations, std::optional<int64_t> lanes);

/// Steps and samples must follow from `sequences` (`what` in diagnostics), `states` and, in graph
/// form, `steps`.
llvm::LogicalResult verifySteps(mlir::Operation *op, mlir::Block &body, mlir::ValueRange sequences,
                                const char *what, mlir::ValueRange states, mlir::Value steps);

/// `number` must be -1 or an index of `operands`, called `what` in diagnostics.
llvm::LogicalResult verifyFactorNumber(mlir::Operation *op, llvm::StringRef what, int64_t number,
                                       mlir::ValueRange operands);

/// Checks `term` for states of sizes `states`; `what` names the matrices in diagnostics.
llvm::LogicalResult verifyTerm(mlir::Operation *op, TermAttr term, llvm::ArrayRef<int64_t> states,
                               llvm::StringRef what, mlir::ValueRange matrices);

llvm::LogicalResult verifyLinkStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_IR_VERIFIERS_VERIFIERS_H

//===- StepJacobian.h - structure of the links of time loops ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// The transposed Jacobian of one step of `loop`, a `bppsa.recurrence` or `bppsa.chain`, with
/// respect to its states, which are laid one after the other. Null where the loop has no states
/// and where its body is a graph.
jacobian::MatrixType inferStepJacobian(mlir::Operation *loop);

/// Fails, after a diagnostic, where `chain`, which is over vectors, does not have the structure
/// of its link, or has terms of another one.
llvm::LogicalResult verifyInferredStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

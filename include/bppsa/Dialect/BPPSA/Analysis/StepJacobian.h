//===- StepJacobian.h - structure of the links of time loops ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Returns the transposed Jacobian of one step of a recurrence or chain with respect to its
/// concatenated states; null without states or for a graph body.
jacobian::MatrixType inferStepJacobian(mlir::Operation *loop);

/// Fails with a diagnostic if the structure or terms attached to `chain` differ from those
/// inferred.
llvm::LogicalResult verifyInferredStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

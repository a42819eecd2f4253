//===- StepJacobian.h - structure of the links of time loops ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Returns the transposed Jacobian of one step of `loop`, a `bppsa.recurrence` or `bppsa.chain`,
/// with respect to its concatenated states. Returns null if the loop has no states or its body is a
/// graph.
jacobian::MatrixType inferStepJacobian(mlir::Operation *loop);

/// Fails with a diagnostic if the structure or the terms attached to `chain`, a chain over vectors,
/// differ from those inferred from its link.
llvm::LogicalResult verifyInferredStructure(ChainOp chain);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

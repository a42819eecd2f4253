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
/// respect to its states, which are laid one after the other. Null where the loop has no states.
JacobianType inferStepJacobian(mlir::Operation *loop);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STEPJACOBIAN_H

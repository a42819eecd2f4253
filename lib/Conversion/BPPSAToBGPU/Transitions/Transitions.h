//===- Transitions.h - transitions of runs of links -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits the kernels for the transitions in the iterations of `loop`, as written by
/// `bppsa-expand-scan`, before the loop: one kernel, or two if cotangents are injected. Fails with
/// a diagnostic if the loop is not supported.
llvm::LogicalResult convertTransitions(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

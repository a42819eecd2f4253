//===- Transitions.h - transitions of runs of links -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits kernels for the transitions in `loop` (`bppsa-expand-scan`): one, or two if cotangents are
/// injected. Fails with a diagnostic if unsupported.
llvm::LogicalResult convertTransitions(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

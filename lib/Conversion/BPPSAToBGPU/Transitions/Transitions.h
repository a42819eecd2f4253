//===- Transitions.h - transitions of runs of links -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits, in front of `loop`, the kernels of the transitions of the runs of links that its
/// iterations take, as `bppsa-expand-scan` writes them: one, or two where cotangents are injected.
/// Fails after a diagnostic.
llvm::LogicalResult convertTransitions(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TRANSITIONS_TRANSITIONS_H

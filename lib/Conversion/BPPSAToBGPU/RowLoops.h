//===- RowLoops.h - loops over transitions, row by row ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

// Replace a loop of transition products and vector copies, as written by `bppsa-expand-scan`, by a
// kernel before the loop. The kernel has one block per row (the sequence of one sample) and, for a
// parallel loop, per iteration. Fail with a diagnostic if the loop has other operations.

llvm::LogicalResult convertRowLoop(mlir::scf::ForallOp loop);
llvm::LogicalResult convertRowLoop(mlir::scf::ForOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

//===- RowLoops.h - products of transitions, row by row ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

// Replace a loop of products of transitions and copies of vectors, as `bppsa-expand-scan` writes
// them, by one kernel in front of it, with a block for each row (the sequence of one sample) and,
// for a parallel loop, iteration. Fail after a diagnostic where the loop has other operations.

llvm::LogicalResult convertRowLoop(mlir::scf::ForallOp loop);
llvm::LogicalResult convertRowLoop(mlir::scf::ForOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

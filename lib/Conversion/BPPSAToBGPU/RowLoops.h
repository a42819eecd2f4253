//===- RowLoops.h - loops over transitions, row by row ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

// Replace a loop of transition products and vector copies by a kernel with one block per row and
// parallel iteration. Fail with a diagnostic on other operations.

llvm::LogicalResult convertRowLoop(mlir::scf::ForallOp loop);
llvm::LogicalResult convertRowLoop(mlir::scf::ForOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_ROWLOOPS_H

//===- Chains.h - kernels of chains -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits the kernel of a bufferized chain mapped to `block_per_row` before the operation, with one
/// block per sample. Fails with a diagnostic if the link has no row-wise evaluation.
llvm::LogicalResult convertChain(ChainOp op);
/// Emits the kernel of a parallel loop of chains, one block per iteration. Each chain must have one
/// row, and all must use windows of the same sequences. Fails with a diagnostic otherwise.
llvm::LogicalResult convertChains(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H

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

/// Emits the kernel of a chain mapped to `block_per_row`, with one block per sample. Fails with a
/// diagnostic if the link is not row-wise.
llvm::LogicalResult convertChain(ChainOp op);
/// Emits the kernel of a parallel loop of chains, one block per iteration. Fails with a diagnostic
/// unless each chain has one row and all use windows of the same sequences.
llvm::LogicalResult convertChains(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H

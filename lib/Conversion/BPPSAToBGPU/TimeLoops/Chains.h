//===- Chains.h - chains as kernels -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits the kernel of a bufferized chain that is mapped to `block_per_row` in front of it, with a
/// block for each sample. Fails after a diagnostic where its link has no row-wise evaluation.
llvm::LogicalResult convertChain(ChainOp op);
/// The same for a parallel loop of chains of one row each, on windows of the same sequences: a
/// block has an iteration. Fails after a diagnostic where they are others.
llvm::LogicalResult convertChains(mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_CHAINS_H

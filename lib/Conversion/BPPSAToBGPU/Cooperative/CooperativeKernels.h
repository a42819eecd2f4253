//===- CooperativeKernels.h - cooperative kernels ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emit kernels whose blocks share the rows of large matrices, before a loop over all steps mapped
/// to `cooperative`. Fail with a diagnostic if impossible.
llvm::LogicalResult convertCooperatively(RecurrenceOp op);
llvm::LogicalResult convertCooperatively(ChainOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H

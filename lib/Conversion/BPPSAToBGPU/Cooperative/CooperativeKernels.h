//===- CooperativeKernels.h - loops that several blocks run -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits the kernels of a bufferized loop over all steps that is mapped to `cooperative` in front
/// of it: blocks share the rows of large matrices. Fails after a diagnostic where these cannot run
/// it.
llvm::LogicalResult convertCooperatively(RecurrenceOp op);
llvm::LogicalResult convertCooperatively(ChainOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVEKERNELS_H

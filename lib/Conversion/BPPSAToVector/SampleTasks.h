//===- SampleTasks.h - samples per task -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

#include "BPPSAToVector.h"

namespace bppsa {

/// Returns the number of samples that a thread may compute together, from the mapping, or 1.
int64_t getMaxTaskSamples(mlir::Operation *loop);

/// Emits a parallel `body(first, count)` over all samples; lanes hold units. A task has `most`
/// samples (a power of two), or fewer if threads would idle; remainders use successive halves. The
/// body is emitted for each number.
void emitSampleTasks(mlir::OpBuilder &builder, mlir::Operation *loop, mlir::Value numSamples,
                     int64_t most,
                     llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> body);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

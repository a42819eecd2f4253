//===- SampleTasks.h - samples per task -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

#include "BPPSAToVector.h"

namespace bppsa {

/// Returns the maximum number of samples that a thread may compute together according to the
/// mapping of `loop`; 1 without a mapping.
int64_t getMaxTaskSamples(mlir::Operation *loop);

/// Emits a parallel loop of `body(first, count)` over all samples of `loop`; lanes hold units. A
/// task computes `most` samples together (a power of two), or fewer if threads would be idle.
/// Remainders use successive halves of that number. The body is emitted for each number.
void emitSampleTasks(mlir::OpBuilder &builder, mlir::Operation *loop, mlir::Value numSamples,
                     int64_t most,
                     llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> body);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

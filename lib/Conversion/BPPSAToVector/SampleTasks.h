//===- SampleTasks.h - samples that one thread takes together ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

#include "BPPSAToVector.h"

namespace bppsa {

/// The most samples of `loop` that its mapping lets a thread compute together; 1 without one, and
/// no more than there are.
int64_t getMaxTaskSamples(mlir::Operation *loop);

/// Emits `body(first, count)`, for all samples of `loop` over units, on as many threads as there
/// are: together `most` of them, a power of two, or fewer where threads would have nothing to do,
/// and halves of that for the rest. A body is emitted for each such count.
void emitSampleTasks(mlir::OpBuilder &builder, mlir::Operation *loop, mlir::Value numSamples,
                     int64_t most,
                     llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> body);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SAMPLETASKS_H

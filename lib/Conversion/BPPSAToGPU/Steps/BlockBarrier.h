//===- BlockBarrier.h - a barrier of several blocks -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BLOCKBARRIER_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BLOCKBARRIER_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Waits for all threads of several blocks, which run at the same time, and makes what they
/// wrote visible. Each block adds one to `counters[index, 0]` of i32, and waits until that
/// is `count` at least; it begins at zero and is never reset. `isFirst` holds in one thread
/// of each block.
void emitBlockBarrier(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value isFirst,
                      mlir::Value counters, mlir::Value index, mlir::Value count);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BLOCKBARRIER_H

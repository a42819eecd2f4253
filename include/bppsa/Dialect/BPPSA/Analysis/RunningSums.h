//===- RunningSums.h - memory of sums over time steps -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Maximum bytes of running sums, per chain and vector of samples, updated while the chain runs.
/// Larger sums would be evicted from the L2 cache.
inline constexpr int64_t kMaxRunningSumBytes = 512 * 1024;

/// Minimum bytes for which a sum after its chain becomes a matrix product.
inline constexpr int64_t kMinLargeSumBytes = 256 * 1024;

/// Returns the bytes per vector of samples. `sum` is an `outer_sum`, `step_sum` or `add_to_sums`
/// with lanes.
int64_t getRunningSumBytes(mlir::Operation *sum);

/// True in a scope of `bppsa-block-time`, in which chains accumulate sums while they run.
bool isInTimeBlocks(mlir::Operation *op);

mlir::OperandRange getSummed(mlir::Operation *sum);

/// Returns true if `op` is a sum over memory that `chain` emits or reads. Both then have the same
/// number of steps.
bool isSumOverSequenceOf(mlir::Operation *op, ChainOp chain);
/// Returns true if `op` is a sum over memory that `chain` emits.
bool isSumOverEmitted(mlir::Operation *op, ChainOp chain);

/// Chooses the sums that one chain accumulates block by block: all that `isEmitted` accepts if they
/// fit in `maxBytes`, then others in order while bytes remain.
llvm::SmallVector<mlir::Operation *>
chooseSums(llvm::ArrayRef<mlir::Operation *> sums,
           llvm::function_ref<bool(mlir::Operation *)> isEmitted, int64_t maxBytes);

/// Returns the number of samples that the sum adds up; null if every lane holds a sample.
mlir::Value getSummedBatch(mlir::Operation *sum);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

//===- RunningSums.h - memory of sums over time steps -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Maximum bytes of running sums, for one chain and the samples of one vector, that are updated
/// slab by slab while the chain runs. Larger sums would be evicted from the L2 cache between slabs.
inline constexpr int64_t kMaxRunningSumBytes = 512 * 1024;

/// Minimum bytes of running sums for which a sum after its chain is lowered to a matrix product.
inline constexpr int64_t kMinLargeSumBytes = 256 * 1024;

/// Returns the bytes of the running sums of `sum` for the samples of one vector. `sum` is an
/// `outer_sum`, `step_sum` or `add_to_sums` with lanes.
int64_t getRunningSumBytes(mlir::Operation *sum);

/// Returns true if `op`, a chain or a sum, is inside a scope that `bppsa-block-time` created. The
/// chain then accumulates the sums while it runs.
bool isInTimeBlocks(mlir::Operation *op);

/// Returns the packed sequences that `sum` reads.
mlir::OperandRange getSummed(mlir::Operation *sum);

/// Returns true if `op` is a sum over memory that `chain` emits or reads. Both then have the same
/// number of steps.
bool isSumOverSequenceOf(mlir::Operation *op, ChainOp chain);
/// Returns true if `op` is a sum over memory that `chain` emits.
bool isSumOverEmitted(mlir::Operation *op, ChainOp chain);

/// Returns the subset of `sums` that one chain accumulates block by block. All sums accepted by
/// `isEmitted` are chosen if their running sums together fit in `maxBytes`. The other sums are
/// added in order as long as they fit in the remaining bytes.
llvm::SmallVector<mlir::Operation *>
chooseSums(llvm::ArrayRef<mlir::Operation *> sums,
           llvm::function_ref<bool(mlir::Operation *)> isEmitted, int64_t maxBytes);

/// Returns the number of samples that an `outer_sum` or `step_sum` adds up; null if every lane
/// holds a sample.
mlir::Value getSummedBatch(mlir::Operation *sum);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

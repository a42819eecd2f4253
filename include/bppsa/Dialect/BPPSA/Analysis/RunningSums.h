//===- RunningSums.h - what sums take while they are made -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// The most running sums of one chain and the samples of one vector, in bytes, that are added to
/// slab by slab while the chain goes on: more of them would leave the second-level cache each time.
inline constexpr int64_t kMaxRunningSumBytes = 512 * 1024;

/// The running sums from which on a sum behind its chain is a matrix product.
inline constexpr int64_t kMinLargeSumBytes = 256 * 1024;

/// The running sums of `sum`, an `outer_sum`, `step_sum` or `add_to_sums` with lanes, for the
/// samples of one vector, in bytes.
int64_t getRunningSumBytes(mlir::Operation *sum);

/// Whether `op`, a chain or a sum, is in a scope of `bppsa-block-time`: the chain makes the sums on
/// its way.
bool isInTimeBlocks(mlir::Operation *op);

/// The packed sequences that such a sum reads.
mlir::OperandRange getSummed(mlir::Operation *sum);

/// Whether `op` is such a sum on memory of a sequence that `chain` emits, or of one that it reads:
/// then it has as many steps.
bool sumsSequenceOf(mlir::Operation *op, ChainOp chain);
/// The same of one that it emits.
bool sumsEmittedOf(mlir::Operation *op, ChainOp chain);

/// Those of `sums` that one chain makes block by block: all that `isEmitted` says to read what it
/// emits, if their running sums take up to `maxBytes`, and the others as they fit beside these.
llvm::SmallVector<mlir::Operation *>
chooseSums(llvm::ArrayRef<mlir::Operation *> sums,
           llvm::function_ref<bool(mlir::Operation *)> isEmitted, int64_t maxBytes);

/// The number of samples that an `outer_sum` or `step_sum` adds up; null where every lane has one.
mlir::Value getSummedBatch(mlir::Operation *sum);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_RUNNINGSUMS_H

//===- ScanSizes.h - sizes of scans at run time -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H

#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// Emits the steps per chunk of `rule` for `numSteps` steps and `numSamples` samples (may be null
/// if unused).
mlir::Value emitChunkSteps(mlir::OpBuilder &builder, mlir::Location loc, cost::ChunkRule rule,
                           mlir::Value numSteps, mlir::Value numSamples = {});

/// Emits the number of chunks per run if each run of each sample has partial sums of `numElements`
/// elements. It is the smallest number that keeps the partial sums within cost::kMaxSumElements.
mlir::Value emitChunksPerRun(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numChunks,
                             mlir::Value numSamples, int64_t numElements);

/// Emits min(maxLevels, floor(log2 numSteps)); a negative `maxLevels` is no limit.
mlir::Value emitNumLevels(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numSteps,
                          int64_t maxLevels);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H

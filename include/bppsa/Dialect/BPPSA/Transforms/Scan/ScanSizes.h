//===- ScanSizes.h - sizes of scans that the run time computes --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H

#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// Steps of a chunk for `numSteps` steps of `numSamples` samples: `rule`, at run time. A rule that
/// does not look at samples needs none.
mlir::Value emitChunkSteps(mlir::OpBuilder &builder, mlir::Location loc, cost::ChunkRule rule,
                           mlir::Value numSteps, mlir::Value numSamples = {});

/// Chunks that a run of a chain has where each run of each sample makes parts of sums of
/// `numElements` elements: as few as keep those parts in cost::kMaxSumElements.
mlir::Value emitChunksOfRun(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numChunks,
                            mlir::Value numSamples, int64_t numElements);

/// Levels of a tree over `numSteps` elements: min(mostLevels, floor(log2 numSteps)),
/// without the first bound where it is negative.
mlir::Value emitNumLevels(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numSteps,
                          int64_t maxLevels);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANSIZES_H

//===- SparseLoops.h - loops over rows and samples --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Values of samples stand side by side, so a vector holds the same entry of some samples: blocks of
// sixteen, then of four, then one by one. Indices are read once for a block. Threads share out rows
// of a result, each of which is summed in a fixed order.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H

#include "../../Bodies/SparseMatrices.h"
#include "../BPPSAToVector.h"

namespace bppsa {

/// Samples `[first, last)` in blocks of `width`.
struct SampleRange {
  mlir::Value first, last;
  int64_t width;
};

/// Blocks of sixteen, of four and of one that cover `numSamples` samples.
llvm::SmallVector<SampleRange> splitSamples(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value numSamples);

/// Calls `body` for blocks that cover `numSamples` samples; once, without samples,
/// where that is null.
void emitSampleBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numSamples,
                      llvm::function_ref<void(mlir::OpBuilder &, const SampleBlock &)> body);

/// Calls `emitTask(first, last)` for tasks of rows, `maxTasks` at most, that threads
/// share.
void emitRowTasks(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, int64_t maxTasks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> emitTask);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H

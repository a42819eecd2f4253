//===- SparseLoops.h - loops of sparse products -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A vector holds the same entry of 16, 4 or 1 contiguous samples. Result rows are distributed over
// threads and summed in a fixed order.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H

#include "../../Bodies/SparseMatrices.h"
#include "../BPPSAToVector.h"

namespace bppsa {

/// Samples [first, last) in blocks of `width`.
struct SampleRange {
  mlir::Value first, last;
  int64_t width;
};

/// Splits samples into blocks of 16, 4 and 1.
llvm::SmallVector<SampleRange> splitSamples(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value numSamples);

/// Calls `body` once without samples if `numSamples` is null.
void emitSampleBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numSamples,
                      llvm::function_ref<void(mlir::OpBuilder &, const SampleBlock &)> body);

/// Calls `emitTask(first, last)` for at most `maxTasks` parallel tasks.
void emitRowTasks(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, int64_t maxTasks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> emitTask);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSELOOPS_H

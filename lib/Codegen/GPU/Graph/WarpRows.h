//===- WarpRows.h - one warp per row of a sparse product --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Samples are contiguous, so up to 32 of them are lanes of a warp; remaining lanes share the
// entries of the row. The order of additions depends only on the number of samples.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H
#define BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H

#include "../../../Conversion/Bodies/SparseMatrices.h"
#include "../Launch.h"

namespace bppsa {

/// The part of a row that one lane processes.
struct WarpRow {
  mlir::Location loc;
  mlir::Value row;
  /// The number of samples, the number of lanes with different samples (a power of two), and the
  /// index of this lane among them.
  mlir::Value numSamples, numSampleLanes, sampleLane;
  /// The number of lanes that share the entries of a row for the same sample, and the index of this
  /// lane among them.
  mlir::Value numParts, part;

  /// Folds this lane's part of entries [first, last).
  mlir::Value foldEntries(
      mlir::OpBuilder &builder, mlir::Value first, mlir::Value last, mlir::Value value,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value, mlir::Value)> body) const;
  void forEachEntry(mlir::OpBuilder &builder, mlir::Value first, mlir::Value last,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) const;
  /// Runs `body(sample, isOwn)` for every sample of this lane. A lane beyond the last sample
  /// repeats it with `isOwn` false, so all lanes run the same number of iterations.
  void forEachSample(
      mlir::OpBuilder &builder,
      llvm::function_ref<void(mlir::OpBuilder &, const SampleBlock &, mlir::Value)> body) const;
  mlir::Value
  foldSamples(mlir::OpBuilder &builder, mlir::Value value,
              llvm::function_ref<mlir::Value(mlir::OpBuilder &, const SampleBlock &, mlir::Value)>
                  body) const;
  /// Adds the parts of a sample; all its lanes receive the sum.
  mlir::Value addParts(mlir::OpBuilder &builder, mlir::Value value) const;
  /// Adds the values of all lanes of the warp; all lanes receive the sum.
  mlir::Value addLanes(mlir::OpBuilder &builder, mlir::Value value) const;
  mlir::Value isFirstPart(mlir::OpBuilder &builder) const;
  mlir::Value isFirstLane(mlir::OpBuilder &builder) const;
};

/// Launches one warp for each of `numRows` rows.
void emitWarpRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t numRows,
                  mlir::Value numSamples,
                  llvm::function_ref<void(mlir::OpBuilder &, const WarpRow &)> body);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H

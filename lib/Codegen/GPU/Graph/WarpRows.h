//===- WarpRows.h - a warp for each row of a sparse product -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Samples stand side by side in memory, so up to 32 of them are lanes of a warp. With fewer, lanes
// that are left share the entries of the row: what they have added up meets by shuffles. The number
// of samples alone decides who adds what, so sums have one order.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H
#define BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H

#include "../../../Conversion/Bodies/SparseMatrices.h"
#include "../Launch.h"

namespace bppsa {

/// What one lane has of a row.
struct WarpRow {
  mlir::Location loc;
  mlir::Value row;
  /// The samples of all lanes, the lanes of different samples (a power of two), and which of them
  /// this one is.
  mlir::Value numSamples, numSampleLanes, sampleLane;
  /// The lanes that share the entries of a row for the same sample, and which of them this one is.
  mlir::Value numParts, part;

  /// Folds this lane's part of entries [first, last): `body(entry, value)` gives the next value.
  mlir::Value foldEntries(
      mlir::OpBuilder &builder, mlir::Value first, mlir::Value last, mlir::Value value,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value, mlir::Value)> body) const;
  /// Runs `body(entry)` for this lane's part of entries [first, last).
  void forEachEntry(mlir::OpBuilder &builder, mlir::Value first, mlir::Value last,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body) const;
  /// Runs `body(sample, isOwn)` for every sample of this lane. All lanes run it equally often: one
  /// beyond the last sample takes that, which is not its own.
  void forEachSample(
      mlir::OpBuilder &builder,
      llvm::function_ref<void(mlir::OpBuilder &, const SampleBlock &, mlir::Value)> body) const;
  /// Folds over the samples of this lane, of which there may be none: `body(sample, value)` gives
  /// the next value.
  mlir::Value
  foldSamples(mlir::OpBuilder &builder, mlir::Value value,
              llvm::function_ref<mlir::Value(mlir::OpBuilder &, const SampleBlock &, mlir::Value)>
                  body) const;
  /// The sum of the parts of a sample, in all its lanes.
  mlir::Value addParts(mlir::OpBuilder &builder, mlir::Value value) const;
  /// The sum of what the lanes of the warp have, in all of them.
  mlir::Value addLanes(mlir::OpBuilder &builder, mlir::Value value) const;
  /// Whether this lane is the first of those that share a sample, and of all.
  mlir::Value isFirstPart(mlir::OpBuilder &builder) const;
  mlir::Value isFirstLane(mlir::OpBuilder &builder) const;
};

/// Launches a warp for each of `numRows` rows. `numSamples` is null where no value depends on
/// samples.
void emitWarpRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t numRows,
                  mlir::Value numSamples,
                  llvm::function_ref<void(mlir::OpBuilder &, const WarpRow &)> body);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_GRAPH_WARPROWS_H

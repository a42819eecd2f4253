//===- SparseValues.h - values of sparse matrices, for all samples - -*- C++ -*-===//
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

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSEVALUES_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSEVALUES_H

#include "../BPPSAToVector.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {

/// Some samples whose values one vector holds; one sample or none is a scalar.
struct SampleBlock {
  /// Null where values do not depend on samples.
  mlir::Value first;
  int64_t width = 1;

  mlir::Type getType(mlir::Type elementType) const {
    return width == 1 ? elementType : mlir::VectorType::get(width, elementType);
  }
};

/// A matrix of an op, and how its entries are read.
struct MatrixReader {
  mlir::Value values, starts, columns, positions;
  int64_t cols;

  bool isPerSample() const { return mlir::cast<mlir::MemRefType>(values.getType()).getRank() == 2; }
  /// The first entry of `row`.
  mlir::Value getStart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// The column of `entry`, of the row that begins with the entry `start`.
  mlir::Value getColumn(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                        mlir::Value start) const;
  /// The value of `entry` for the samples of `block`.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                   const SampleBlock &block) const;
};

/// Samples `[first, last)` in blocks of `width`.
struct SampleRange {
  mlir::Value first, last;
  int64_t width;
};

/// Element `at` of `indices`, as an index.
mlir::Value loadIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value indices,
                      mlir::Value at);

/// Row `row` of `[N, B]`, or element `row` of `[N]` for all samples.
mlir::Value loadSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        mlir::Value row, const SampleBlock &block);

/// Writes what `loadSamples` reads.
void storeSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                  mlir::Value array, mlir::Value row, const SampleBlock &block);

/// `lhs * rhs + sum`, rounded once.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value sum);

/// Blocks of sixteen, of four and of one that cover `numSamples` samples.
llvm::SmallVector<SampleRange> splitSamples(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value numSamples);

/// Calls `body` for blocks that cover `numSamples` samples; once, without samples,
/// where that is null.
void emitSampleBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numSamples,
                      llvm::function_ref<void(mlir::OpBuilder &, const SampleBlock &)> body);

/// Calls `emitTask(first, last)` for tasks of rows, `mostTasks` at most, that threads
/// share.
void emitRowTasks(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows, int64_t mostTasks,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> emitTask);

/// The number of samples of the arrays among `arrays` that have one; null where all
/// samples share every array.
mlir::Value getNumSamples(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> arrays);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_PRODUCTS_SPARSEVALUES_H

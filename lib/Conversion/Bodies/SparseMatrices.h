//===- SparseMatrices.h - entries of sparse matrices in memory --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// How the lowerings of the numeric phase of products (`jacobian.sparse_apply` and so on) read the
// entries of their matrices. Values of samples stand side by side: `[N, B]`, or `[N]` where all
// samples share a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H
#define BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

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

/// The number of samples of the arrays among `arrays` that have one; null where all
/// samples share every array.
mlir::Value getNumSamples(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> arrays);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

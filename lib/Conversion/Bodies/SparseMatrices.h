//===- SparseMatrices.h - access to sparse matrices -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Access to matrix entries for the lowerings of sparse products such as `jacobian.sparse_apply`.
// Values are `[N, B]` with contiguous samples, or `[N]` if all samples share a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H
#define BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// Samples whose values are in one vector. A width of one is a scalar.
struct SampleBlock {
  /// Null if values do not depend on samples.
  mlir::Value first;
  int64_t width = 1;

  mlir::Type getType(mlir::Type elementType) const {
    return width == 1 ? elementType : mlir::VectorType::get(width, elementType);
  }
};

/// A matrix operand and the access to its entries.
struct MatrixReader {
  mlir::Value values, starts, columns, positions;
  int64_t cols;

  bool isPerSample() const { return mlir::cast<mlir::MemRefType>(values.getType()).getRank() == 2; }
  mlir::Value getStart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Returns the column of `entry`; its row begins with entry `start`.
  mlir::Value getColumn(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                        mlir::Value start) const;
  /// Loads the value of `entry` for the samples of `block`.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                   const SampleBlock &block) const;
};

mlir::Value loadIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value indices,
                      mlir::Value at);

/// Loads row `row` of `[N, B]`, or element `row` of `[N]` for all samples.
mlir::Value loadSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        mlir::Value row, const SampleBlock &block);

/// Stores values in the layout of `loadSamples`.
void storeSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                  mlir::Value array, mlir::Value row, const SampleBlock &block);

/// Emits a fused `lhs * rhs + sum`.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value sum);

/// Returns the number of samples of the first array that has a sample dimension; null if there is
/// none.
mlir::Value getNumSamples(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> arrays);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

//===- SparseMatrices.h - access to sparse matrices -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Matrix entries of sparse products. Values are `[N, B]`, or `[N]` if shared by all samples.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H
#define BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// Samples of one vector; width one is a scalar.
struct SampleBlock {
  /// Null if values do not depend on samples.
  mlir::Value first;
  int64_t width = 1;

  mlir::Type getType(mlir::Type elementType) const {
    return width == 1 ? elementType : mlir::VectorType::get(width, elementType);
  }
};

struct MatrixReader {
  mlir::Value values, starts, columns, positions;
  int64_t cols;

  bool isPerSample() const { return mlir::cast<mlir::MemRefType>(values.getType()).getRank() == 2; }
  mlir::Value getStart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// The row begins with entry `start`.
  mlir::Value getColumn(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                        mlir::Value start) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value entry,
                   const SampleBlock &block) const;
};

mlir::Value loadIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value indices,
                      mlir::Value at);

/// `array` is `[N, B]`, or `[N]` for all samples.
mlir::Value loadSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        mlir::Value row, const SampleBlock &block);

void storeSamples(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                  mlir::Value array, mlir::Value row, const SampleBlock &block);

/// Emits a fused `lhs * rhs + sum`.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                        mlir::Value rhs, mlir::Value sum);

/// Uses the first array with samples. Returns null if there is none.
mlir::Value getNumSamples(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<mlir::Value> arrays);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BODIES_SPARSEMATRICES_H

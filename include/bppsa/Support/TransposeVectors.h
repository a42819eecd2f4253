//===- TransposeVectors.h - transposes matrices in registers ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TRANSPOSEVECTORS_H
#define BPPSA_SUPPORT_TRANSPOSEVECTORS_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace bppsa {

/// Number of columns of the matrices.
inline constexpr int64_t kTransposedColumns = 4;

/// Returns whether columns of `numRows` elements can be vectors: the number must be a power of two
/// and at least four.
inline bool canTransposeRows(int64_t numRows) {
  return numRows >= kTransposedColumns && llvm::isPowerOf2_64(numRows);
}

/// Transposes `rows`, vectors of four elements, to four columns. `canTransposeRows` must accept the
/// number of rows.
///
/// Four floats fill a 128-bit register part. Shuffles within such parts are the cheap ones, and a
/// tile of four columns needs few registers.
llvm::SmallVector<mlir::Value> transposeRowsOfFour(mlir::OpBuilder &builder, mlir::Location loc,
                                                   llvm::ArrayRef<mlir::Value> rows);

/// Returns the rows of the matrix with these four `columns`; inverse of `transposeRowsOfFour`.
llvm::SmallVector<mlir::Value> transposeFourColumns(mlir::OpBuilder &builder, mlir::Location loc,
                                                    llvm::ArrayRef<mlir::Value> columns);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TRANSPOSEVECTORS_H

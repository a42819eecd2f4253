//===- TransposeVectors.h - small matrices in registers ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TRANSPOSEVECTORS_H
#define BPPSA_SUPPORT_TRANSPOSEVECTORS_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace bppsa {

/// Columns of the matrices that are transposed.
inline constexpr int64_t kTransposedColumns = 4;

/// Whether the columns of so many rows can be vectors: a power of two from four on.
inline bool canTransposeRows(int64_t numRows) {
  return numRows >= kTransposedColumns && llvm::isPowerOf2_64(numRows);
}

/// The four columns, of as many elements as there are `rows`, of a matrix of four columns. Rows are
/// vectors of four elements, as many as `canTransposeRows` takes.
///
/// Four elements are what a register of 128 bits has, and shuffles do not leave such parts of a
/// wider register: these are the cheap ones of a processor, and a tile of four columns takes few
/// registers.
llvm::SmallVector<mlir::Value> transposeRowsOfFour(mlir::OpBuilder &builder, mlir::Location loc,
                                                   llvm::ArrayRef<mlir::Value> rows);

/// Undoes `transposeRowsOfFour`: the rows of the matrix with these four `columns`.
llvm::SmallVector<mlir::Value> transposeFourColumns(mlir::OpBuilder &builder, mlir::Location loc,
                                                    llvm::ArrayRef<mlir::Value> columns);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TRANSPOSEVECTORS_H

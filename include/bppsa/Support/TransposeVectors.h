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

inline constexpr int64_t kTransposedColumns = 4;

/// `numRows` must be a power of two and at least four.
inline bool canTransposeRows(int64_t numRows) {
  return numRows >= kTransposedColumns && llvm::isPowerOf2_64(numRows);
}

/// Transposes `rows` of four elements to four columns; requires `canTransposeRows`. Four floats
/// fill a 128-bit register part, within which shuffles are cheap.
llvm::SmallVector<mlir::Value> transposeRowsOfFour(mlir::OpBuilder &builder, mlir::Location loc,
                                                   llvm::ArrayRef<mlir::Value> rows);

/// Inverts `transposeRowsOfFour`.
llvm::SmallVector<mlir::Value> transposeFourColumns(mlir::OpBuilder &builder, mlir::Location loc,
                                                    llvm::ArrayRef<mlir::Value> columns);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TRANSPOSEVECTORS_H

//===- Totals.h - sums of partial results -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

#include "Slabs.h"

namespace bppsa {

/// Column sums of groups of rows, `getRows(group)`. `load(row, j)` reads column j.
struct ColumnSums {
  /// Null if there is one group.
  mlir::Value numGroups;
  int64_t numColumns;
  mlir::Type element;
  llvm::function_ref<Slab(mlir::OpBuilder &, mlir::Value group)> getRows;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> load;
  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value group, mlir::Value column,
                          mlir::Value sum)>
      write;
};

/// Each block sums 32 columns of a group, in an order that depends only on the rows of the group.
void emitColumnSums(mlir::OpBuilder &builder, mlir::Location loc, const ColumnSums &sums);

/// Returns `[numParts, size]`, which the caller frees.
mlir::Value allocateParts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numParts,
                          int64_t size, mlir::Type element);

/// Adds up `parts`, `[numParts, size]`, in an order that depends only on their number.
/// `write(position, total)` receives the totals.
void emitTotals(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts, mlir::Value numParts,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value position, mlir::Value total)> write);
/// Writes totals to vectors or matrices `sums`. A part has all sums in column-major order.
void emitTotals(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts,
                mlir::Value numParts, mlir::ValueRange sums);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

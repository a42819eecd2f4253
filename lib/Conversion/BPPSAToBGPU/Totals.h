//===- Totals.h - sums of parts that blocks have made -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

#include "Slabs.h"

namespace bppsa {

/// Sums of the columns of each group of rows. Values of one group are those of the rows
/// `getRows(group)`, and column j of them is read by `load(row, j)`.
struct ColumnSums {
  /// Null where there is one group.
  mlir::Value numGroups;
  int64_t numColumns;
  mlir::Type element;
  llvm::function_ref<Slab(mlir::OpBuilder &, mlir::Value group)> getRows;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> load;
  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value group, mlir::Value column,
                          mlir::Value sum)>
      write;
};

/// A `bgpu.kernel` whose blocks have 32 columns of a group each. The order of additions depends on
/// the number of rows of a group alone.
void emitColumnSums(mlir::OpBuilder &builder, mlir::Location loc, const ColumnSums &sums);

/// Memory for `numParts` parts of `size` elements, `[numParts, size]`, to be freed.
mlir::Value allocateParts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numParts,
                          int64_t size, mlir::Type element);

/// A `bgpu.kernel` that adds `parts` `[numParts, size]` up and gives each total to
/// `write(position, total)`. The order of additions depends on the number of parts alone.
void emitTotals(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts, mlir::Value numParts,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value position, mlir::Value total)> write);
/// Writes the totals to `sums`, vectors or matrices, which parts have one after the other, each
/// column by column.
void emitTotals(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts,
                mlir::Value numParts, mlir::ValueRange sums);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

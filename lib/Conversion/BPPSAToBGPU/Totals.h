//===- Totals.h - sums of partial results -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

#include "Slabs.h"

namespace bppsa {

/// Sums the columns of each group of rows. The rows of a group are `getRows(group)`; `load(row, j)`
/// reads column j.
struct ColumnSums {
  /// Null if there is only one group.
  mlir::Value numGroups;
  int64_t numColumns;
  mlir::Type element;
  llvm::function_ref<Slab(mlir::OpBuilder &, mlir::Value group)> getRows;
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)> load;
  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value group, mlir::Value column,
                          mlir::Value sum)>
      write;
};

/// Emits a `bgpu.kernel` whose blocks sum 32 columns of a group each. The order of additions
/// depends only on the number of rows of a group.
void emitColumnSums(mlir::OpBuilder &builder, mlir::Location loc, const ColumnSums &sums);

/// Allocates `[numParts, size]` for partial results. The caller frees it.
mlir::Value allocateParts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numParts,
                          int64_t size, mlir::Type element);

/// Emits a `bgpu.kernel` that adds up `parts`, `[numParts, size]`, and passes each total to
/// `write(position, total)`. The order of additions depends only on the number of parts.
void emitTotals(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts, mlir::Value numParts,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value position, mlir::Value total)> write);
/// Writes the totals to `sums`, vectors or matrices. A part contains all sums one after the other
/// in column-major order.
void emitTotals(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts,
                mlir::Value numParts, mlir::ValueRange sums);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

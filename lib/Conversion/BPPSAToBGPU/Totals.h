//===- Totals.h - sums of parts that blocks have made -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TOTALS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

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

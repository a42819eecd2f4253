//===- RowTiles.h - vectorize across short rows -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_ROWTILES_H
#define BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Returns true if `op` can be computed in tiles of `lanes` contiguous f32 rows, with one row per
/// vector lane.
bool hasRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

/// Emits the loops of such an operation, transposing rows in registers. Elements are joined in
/// order, independent of the number of rows.
void emitRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

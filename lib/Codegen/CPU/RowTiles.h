//===- RowTiles.h - vectorize across short rows -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_ROWTILES_H
#define BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Returns true if `op` can be computed in tiles of `lanes` rows, with one row per vector lane. The
/// rows, which the innermost loop iterates over, must be f32 and contiguous, and scalars of
/// neighbouring rows must be adjacent. `op` has at least two loops and an elementwise body;
/// reductions of rows have a join.
bool hasRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

/// Emits the loops of such an operation before it. Rows are read and written four elements at a
/// time and transposed in registers. The elements of a row are joined in order, independent of the
/// number of rows.
void emitRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

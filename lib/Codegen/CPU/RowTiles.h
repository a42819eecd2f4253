//===- RowTiles.h - short rows side by side ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_ROWTILES_H
#define BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Whether tiles of `lanes` rows, the elements of the innermost loop of `op`, can be computed with
/// an element of each row in the lanes of a vector: rows are f32 and contiguous, and numbers of
/// neighbouring rows are neighbours. `op` has at least two loops and an elementwise body; what
/// reduces rows has a join.
bool hasRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

/// Emits the loops of such an operation before it. Rows are read and written four elements at a
/// time and transposed in registers. The elements of a row are joined in order, whatever the number
/// of rows.
void emitRowTiles(mlir::linalg::GenericOp op, int64_t lanes);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_ROWTILES_H

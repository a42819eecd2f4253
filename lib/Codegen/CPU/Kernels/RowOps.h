//===- RowOps.h - graph operations on rows of arrays ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// Returns the number of outermost loops that iterate over rows; 0 unless `op` only combines
/// elements of the same row.
unsigned countRowLoops(mlir::linalg::LinalgOp op);

/// Returns true if `operand` of an operation with row loops has rows; other operands are shared by
/// all rows.
bool hasRows(mlir::OpOperand &operand);

/// Collapses the first `rowDims` dimensions of `array`, which count rows, to one.
mlir::Value collapseRows(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         unsigned rowDims);

/// Emits `op` with one loop over rows instead of `rowDims` loops.
void emitOnRows(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op, unsigned rowDims,
                const mlir::IRMapping &mapping);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H

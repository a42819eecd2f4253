//===- RowOps.h - graph operations on the rows of arrays --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// The loops of `op`, on memory, that count the rows of its arrays, from the outermost on: 0 where
/// it is more than something on numbers of each row by itself. Matrix products count as more.
unsigned countRowLoops(mlir::linalg::LinalgOp op);

/// Whether `operand` of an operation with such loops has rows; others are the same for all of them.
bool hasRows(mlir::OpOperand &operand);

/// All of `array`, with one dimension in the place of the first `rowDims`, which count rows.
mlir::Value collapseRows(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                         unsigned rowDims);

/// Emits `op` on rows that one loop counts in the place of `rowDims`. `mapping` has such arrays.
void emitOnRows(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op, unsigned rowDims,
                const mlir::IRMapping &mapping);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_ROWOPS_H

//===- LargeSums.h - large outer sums as matrix products --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Returns true if `sum`, on memory and with samples in lanes, has running sums of at least
/// `minBytes`. Such a sum is lowered to a matrix product.
bool isLargeSum(OuterSumOp sum, int64_t minBytes);

void emitZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array);

/// Adds the outer products of `lhs` and `rhs`, `[block, step, row, lane]`, to the destination of
/// `sum`, with these arrays instead of its operands.
void addProducts(mlir::OpBuilder &builder, OuterSumOp sum, mlir::Value lhs, mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

//===- LargeSums.h - large outer sums as matrix products --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Whether the running sums of `sum`, on memory and with samples in lanes, take `minBytes`: then
/// it is a matrix product.
bool isLargeSum(OuterSumOp sum, int64_t minBytes);

/// Fills `array` with zeros.
void emitZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array);

/// Adds to the destination of `sum` what it is of `lhs` and `rhs`, `[block, step, row, lane]`, in
/// the place of its operands.
void addProducts(mlir::OpBuilder &builder, OuterSumOp sum, mlir::Value lhs, mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

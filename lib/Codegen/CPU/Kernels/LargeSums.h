//===- LargeSums.h - large outer sums as matrix products --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Returns true if the running sums of `sum` have at least `minBytes`, so that it is lowered to a
/// matrix product.
bool isLargeSum(OuterSumOp sum, int64_t minBytes);

void emitZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array);

/// Adds the outer products of `lhs` and `rhs`, `[block, step, row, lane]`, to the destination of
/// `sum`.
void addProducts(mlir::OpBuilder &builder, OuterSumOp sum, mlir::Value lhs, mlir::Value rhs);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_LARGESUMS_H

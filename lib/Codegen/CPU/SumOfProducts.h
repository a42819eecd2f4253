//===- SumOfProducts.h - detect sums of products ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_SUMOFPRODUCTS_H
#define BPPSA_LIB_CODEGEN_CPU_SUMOFPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// Returns true if `op` adds `lhs * rhs` to `result`, all f32 on memory.
bool isSumOfProducts(mlir::linalg::GenericOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_SUMOFPRODUCTS_H

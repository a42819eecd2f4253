//===- TransposeVectors.h - small matrices in registers ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TRANSPOSEVECTORS_H
#define BPPSA_SUPPORT_TRANSPOSEVECTORS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// The transposed matrix of the vectors `rows`, as many as each has elements: a power of two.
llvm::SmallVector<mlir::Value> transposeVectors(mlir::OpBuilder &builder, mlir::Location loc,
                                                llvm::SmallVector<mlir::Value> rows);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TRANSPOSEVECTORS_H

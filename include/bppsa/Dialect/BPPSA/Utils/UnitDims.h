//===- UnitDims.h - removal of unit dimensions ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_UNITDIMS_H
#define BPPSA_DIALECT_BPPSA_UTILS_UNITDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace bppsa {

/// Drops dimension `dim`, of size 1, of the only result of `generic`, with reshapes at its operands
/// and users. Returns false if an indexing map forbids it.
bool dropUnitDim(mlir::IRRewriter &rewriter, mlir::linalg::GenericOp generic, unsigned dim);

/// Folds reshapes, casts and slices of concatenations. Resolves sizes to argument sizes, so that
/// equal batch sizes become one value.
void foldReshapes(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_UNITDIMS_H

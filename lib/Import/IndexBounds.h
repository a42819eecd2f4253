//===- IndexBounds.h - graph inputs that hold indices -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INDEXBOUNDS_H
#define BPPSA_LIB_IMPORT_INDEXBOUNDS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Says that the elements of `indices` pick from a dimension of size `size`, an
/// expression of `numSymbols` symbols. Where they are exactly the elements of a
/// graph input, in any order and shape, the argument gets the size in its
/// attribute `bppsa.index_bounds`, so that a program can check the array. Indices
/// that are computed are not followed: only some elements of an input may matter
/// to them. `attributes` are those of the arguments of the function; `outerValues` leads from
/// arguments of loop bodies to the operands that they are steps of.
void recordIndexBound(mlir::Value indices, mlir::AffineExpr size, unsigned numSymbols,
                      llvm::MutableArrayRef<mlir::NamedAttrList> attributes,
                      const llvm::DenseMap<mlir::Value, mlir::Value> &outerValues);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INDEXBOUNDS_H

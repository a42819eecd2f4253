//===- LinkForms.h - links as their rules or Jacobians ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

namespace bppsa {

/// Puts the rule of `link` in its place.
void inlineRule(jacobian::LinkOp link);

/// Makes the Jacobians of `list` before its first link, where what they are made of is there, and
/// puts a `jacobian.apply` in the place of each link. With `isDense` the Jacobians are those of
/// `createDenseJacobian`.
llvm::SmallVector<jacobian::ApplyOp> applyJacobians(llvm::ArrayRef<jacobian::LinkOp> list,
                                                    bool isDense);

/// All elements of the transposed Jacobian of `link` for each sample of `cotangent`: column j is
/// what its rule makes of a cotangent that is one at element j of a sample.
mlir::Value createDenseJacobian(mlir::OpBuilder &builder, jacobian::LinkOp link,
                                mlir::Value cotangent);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

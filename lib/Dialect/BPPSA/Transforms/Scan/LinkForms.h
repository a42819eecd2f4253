//===- LinkForms.h - links as their rules or Jacobians ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

namespace bppsa {

void inlineRule(jacobian::LinkOp link);

/// Replaces each link with a `jacobian.apply`; Jacobians come before the first link if possible.
/// `isDense` uses `createDenseJacobian`.
llvm::SmallVector<jacobian::ApplyOp> applyJacobians(llvm::ArrayRef<jacobian::LinkOp> list,
                                                    bool isDense);

/// Creates a transposed Jacobian per sample; column j is the rule applied to unit vector j.
mlir::Value createDenseJacobian(mlir::OpBuilder &builder, jacobian::LinkOp link,
                                mlir::Value cotangent);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

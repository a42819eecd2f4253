//===- LinkForms.h - links as their rules or Jacobians ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"

namespace bppsa {

/// Replaces `link` with its rule.
void inlineRule(jacobian::LinkOp link);

/// Replaces each link of `list` with a `jacobian.apply`. Creates the Jacobians before the first
/// link if their operands are available there. With `isDense`, `createDenseJacobian` computes them.
llvm::SmallVector<jacobian::ApplyOp> applyJacobians(llvm::ArrayRef<jacobian::LinkOp> list,
                                                    bool isDense);

/// Creates a dense transposed Jacobian of `link` for each sample of `cotangent`. Column j is the
/// rule applied to a cotangent that is one at element j of each sample.
mlir::Value createDenseJacobian(mlir::OpBuilder &builder, jacobian::LinkOp link,
                                mlir::Value cotangent);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_LINKFORMS_H

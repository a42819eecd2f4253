//===- BodyRewrites.h - rewrites of graph bodies ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Converts sums over samples, elementwise and named operations to linalg.generic. Fails with a
/// diagnostic on dynamic sizes.
llvm::LogicalResult generalizeBody(mlir::Block &body);

/// Hoists loop-independent operations; their destinations and scalars are recomputed outside.
void hoistOps(llvm::ArrayRef<mlir::Operation *> ops, mlir::LoopLikeOpInterface loop);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

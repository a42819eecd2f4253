//===- BodyRewrites.h - rewrites of graph bodies ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Converts sums over samples, elementwise operations and named operations in `body`, the body of a
/// loop in graph form, to linalg.generic. Fails with a diagnostic if a tensor has a dynamic size.
llvm::LogicalResult generalizeBody(mlir::Block &body);

/// Hoists operations among `ops` that do not depend on `loop` out of it. Destinations and scalars
/// that they use are recomputed outside.
void hoistOps(llvm::ArrayRef<mlir::Operation *> ops, mlir::LoopLikeOpInterface loop);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

//===- BodyRewrites.h - bodies before and after they get rows ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Writes sums over samples, elementwise and named ops of `body`, that of a loop in graph form, as
/// linalg.generic. Fails, after an error, where an array has no static size.
llvm::LogicalResult generalizeBody(mlir::Block &body);

/// Moves those of `ops` out of `loop` that read nothing of it; destinations and numbers are made
/// again where they are needed.
void hoistOps(llvm::ArrayRef<mlir::Operation *> ops, mlir::LoopLikeOpInterface loop);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_BODYREWRITES_H

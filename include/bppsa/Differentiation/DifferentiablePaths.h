//===- DifferentiablePaths.h - reachability of gradients --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A gradient is structurally zero if every path from a value to the loss passes through an
// operation whose derivative is zero everywhere, such as a comparison or a rounding.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H
#define BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace bppsa {

/// Returns the float values with a differentiable path to one of `targets`, following loop states
/// to a fixed point.
llvm::DenseSet<mlir::Value> findDifferentiablePaths(mlir::ValueRange targets);

/// Returns the operations that stop the gradient on the paths from `values`, none of which are in
/// `reached`.
llvm::SmallVector<mlir::Operation *> findPathEnds(mlir::ValueRange values,
                                                  const llvm::DenseSet<mlir::Value> &reached);

} // namespace bppsa

#endif // BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H

//===- DifferentiablePaths.h - what a gradient can reach --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A gradient is structurally zero where every path from a value to the loss passes through an
// operation whose derivative is zero everywhere, such as a comparison or a rounding.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H
#define BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace bppsa {

/// The float values from which a differentiable path leads to one of `targets`, and `targets`
/// themselves. Follows the states of loops to a fixed point. The differentiation rules decide
/// whether an elementwise operation passes a gradient on.
llvm::DenseSet<mlir::Value> findDifferentiablePaths(mlir::ValueRange targets);

/// The operations that pass no gradient on at the ends of the paths from `values`. None of these
/// are among `reached`, the result of `findDifferentiablePaths`.
llvm::SmallVector<mlir::Operation *> findPathEnds(mlir::ValueRange values,
                                                  const llvm::DenseSet<mlir::Value> &reached);

} // namespace bppsa

#endif // BPPSA_DIFFERENTIATION_DIFFERENTIABLEPATHS_H

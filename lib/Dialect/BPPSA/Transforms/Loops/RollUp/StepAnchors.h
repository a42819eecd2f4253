//===- StepAnchors.h - where steps may begin --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPANCHORS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPANCHORS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace bppsa {

/// Operations that may be the same place of consecutive steps, in order.
struct StepAnchors {
  llvm::SmallVector<mlir::Operation *> ops;
  /// Whether all of them read one array, which is what tells steps from layers: else only slices of
  /// sequences do.
  bool shareArray = false;
};

/// Operations that are wanted, have one result, and are equal but for the values that they read;
/// groups and operations in the order of `block`.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
groupEqualOps(mlir::Block &block, llvm::function_ref<bool(mlir::linalg::GenericOp)> isWanted);

/// The anchors in `block` of at least `minSteps` steps, the surest first: sums of products with one
/// array, other operations on one array, and equal operations each of which the next one follows
/// from.
llvm::SmallVector<StepAnchors> findStepAnchors(mlir::Block &block, unsigned minSteps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPANCHORS_H

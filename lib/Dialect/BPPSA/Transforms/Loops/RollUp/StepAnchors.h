//===- StepAnchors.h - candidates for steps ---------------------*- C++ -*-===//
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

/// Operations that may correspond to each other in consecutive steps, in order.
struct StepAnchors {
  llvm::SmallVector<mlir::Operation *> ops;
  /// True if all of them read the same array, which distinguishes steps from layers. Otherwise
  /// steps must read slices of sequences.
  bool shareArray = false;
};

/// Groups the operations accepted by `isWanted` that have one result and only differ in the values
/// that they read. Groups and operations are in block order.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
groupEqualOps(mlir::Block &block, llvm::function_ref<bool(mlir::linalg::GenericOp)> isWanted);

/// Returns candidates for at least `minSteps` steps in `block`, the most reliable first:
/// contractions with the same array, other operations on the same array, and equal operations each
/// of which depends on the previous one.
llvm::SmallVector<StepAnchors> findStepAnchors(mlir::Block &block, unsigned minSteps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPANCHORS_H

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

/// Operations that may correspond in consecutive steps.
struct StepAnchors {
  llvm::SmallVector<mlir::Operation *> ops;
  /// True if all read the same array, which distinguishes steps from layers. Otherwise steps must
  /// read sequence slices.
  bool shareArray = false;
};

/// Groups operations with one result that differ only in the values read. Groups are in block
/// order.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
groupEqualOps(mlir::Block &block, llvm::function_ref<bool(mlir::linalg::GenericOp)> isWanted);

/// Returns candidates for `minSteps` or more steps, most reliable first.
llvm::SmallVector<StepAnchors> findStepAnchors(mlir::Block &block, unsigned minSteps);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPANCHORS_H

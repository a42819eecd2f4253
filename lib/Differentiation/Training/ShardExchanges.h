//===- ShardExchanges.h - what shares of the steps exchange -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// With `reversedFirst` reversed loops run in front of the forward ones of their layer, which suits
/// ranks with late steps.
///
/// Makes `function`, of losses of whole sequences, one of a share of their steps, whose states
/// enter from the rank before and leave to the rank behind. Returns what the losses of the ranks
/// behind add to that of the share, scalars. Fails, after an error that names the operation, where
/// one mixes steps in a way that ranks cannot.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> connectShards(mlir::func::FuncOp function,
                                                              bool reversedFirst);

/// Adds `op`, and what it needs of the operations from `first` on, to `needed`. Returns false where
/// that is `first` or has side effects besides `op` and those of `own`.
bool collectNeeded(mlir::Operation *op, mlir::Operation *first,
                   llvm::ArrayRef<mlir::Operation *> own,
                   llvm::SetVector<mlir::Operation *> &needed);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H

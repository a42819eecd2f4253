//===- ShardExchanges.h - exchanges between time shards ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace bppsa {

/// Converts `function`, which computes losses of whole sequences, to work on a shard of their
/// steps: states are received from the previous rank and sent to the next one. With
/// `reversedFirst`, the reversed loops of a layer run before its forward loops, which suits ranks
/// that own late steps. Returns scalars that the losses of later ranks add to the loss of the
/// shard. Emits an error that names the operation if ranks cannot share an operation that mixes
/// steps.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> connectShards(mlir::func::FuncOp function,
                                                              bool reversedFirst);

/// Adds `op` and the operations it depends on, from `first` on, to `needed`. Returns false if these
/// include `first` or an operation with side effects other than `op` and the operations in `own`.
bool collectNeeded(mlir::Operation *op, mlir::Operation *first,
                   llvm::ArrayRef<mlir::Operation *> own,
                   llvm::SetVector<mlir::Operation *> &needed);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H

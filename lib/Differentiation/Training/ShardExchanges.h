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

/// Converts `function` to work on a shard of the time steps, exchanging states with neighbouring
/// ranks. With `reversedFirst`, reversed loops run first, which suits ranks with late steps.
/// Returns scalars that the losses of later ranks add. Emits an error if an operation mixes steps.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> connectShards(mlir::func::FuncOp function,
                                                              bool reversedFirst);

/// Adds `op` and the operations it depends on, from `first` on, to `needed`. Returns false if these
/// include `first` or other operations with side effects.
bool collectNeeded(mlir::Operation *op, mlir::Operation *first,
                   llvm::ArrayRef<mlir::Operation *> own,
                   llvm::SetVector<mlir::Operation *> &needed);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_SHARDEXCHANGES_H

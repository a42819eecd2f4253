//===- KernelGroups.h - operations that are one kernel ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_KERNELS_KERNELGROUPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_KERNELS_KERNELGROUPS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace bppsa {

/// Whether `op` allocates, frees or views memory or has no effects: groups may reach over it.
bool isMemoryOrView(mlir::Operation *op);

/// Moves what stands between `ops`, which groups may reach over, in front of them, and what frees
/// memory behind them.
void moveOthersAway(llvm::ArrayRef<mlir::Operation *> ops);

// Each of these moves bufferized operations of `block` that can be one kernel together, and returns
// those that follow another one.

/// Outer sums with the same right factor, at the last of them. What is freed between them is freed
/// behind them.
llvm::DenseSet<mlir::Operation *> gatherSums(mlir::Block &block);
/// Copies of static shapes that can be made at the same time, at the last of them.
llvm::DenseSet<mlir::Operation *> gatherCopies(mlir::Block &block);
/// Fills, in front of what accumulates into the memory that they fill.
llvm::DenseSet<mlir::Operation *> gatherFills(mlir::Block &block);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_KERNELS_KERNELGROUPS_H

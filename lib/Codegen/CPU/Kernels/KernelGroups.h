//===- KernelGroups.h - operations that are one kernel ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace bppsa {

/// Whether `op` allocates, frees or views memory or has no effects: groups may reach over it.
bool isMemoryOrView(mlir::Operation *op);

/// Groups of operations of `block` that begin as `none` and take each what they can `add` behind
/// the others; those that are worth a loop over blocks.
template <typename Group>
llvm::SmallVector<Group, 0> findGroups(mlir::Block &block, const Group &none) {
  llvm::SmallVector<Group, 0> groups;
  Group group = none;
  auto finish = [&] {
    if (group.isWorthBlocks())
      groups.push_back(group);
    group = none;
  };
  for (mlir::Operation &op : block) {
    if (group.add(&op) || isMemoryOrView(&op))
      continue;
    finish();
    group.add(&op);
  }
  finish();
  return groups;
}

/// The operations behind `op` that `isSum` says to be wanted sums and that can be made right behind
/// it, once their operands are there. Their destination is the last operand.
llvm::SmallVector<mlir::Operation *>
findSumsBehind(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> isSum);

/// Moves `value`, and what it is computed from, in front of `op`; false where that has effects.
bool moveInFrontOf(mlir::Operation *op, mlir::Value value);

/// Whether `array` is memory that `ops`, and what frees it, alone use.
bool isUsedOnlyBy(mlir::Value array, llvm::ArrayRef<mlir::Operation *> ops);

/// Erases `memory`, with the views of it and what frees it, where nothing else uses it.
void eraseMemory(mlir::Operation *memory);

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

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H

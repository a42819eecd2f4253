//===- KernelGroups.h - groups of operations per kernel ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H
#define BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

namespace bppsa {

/// Returns true if `op` allocates, frees or views memory, or has no effects. Such operations do not
/// separate the members of a group.
bool isMemoryOrView(mlir::Operation *op);

/// Partitions consecutive operations of `block` into groups that are worth a loop over blocks.
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

/// Returns the sums after `op` that satisfy `isSum` and can be computed directly after `op` once
/// their operands are available.
llvm::SmallVector<mlir::Operation *>
findSumsAfter(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> isSum);

/// Moves the definition of `value`, with its dependencies, before `op`. Returns false if these have
/// side effects.
bool hoistBefore(mlir::Operation *op, mlir::Value value);

/// Returns true if `array` is allocated memory that is only used by `ops` and by deallocations.
bool isUsedOnlyBy(mlir::Value array, llvm::ArrayRef<mlir::Operation *> ops);

/// Erases `memory` with its views and deallocations if it has no other uses.
void eraseMemory(mlir::Operation *memory);

/// Moves the operations between `ops` that do not separate groups before them, and deallocations
/// after them.
void isolateGroup(llvm::ArrayRef<mlir::Operation *> ops);

/// Moves outer sums with the same right factor to the last of them, and deallocations after them.
llvm::DenseSet<mlir::Operation *> gatherSums(mlir::Block &block);
/// Moves independent copies of static shape to the last of them.
llvm::DenseSet<mlir::Operation *> gatherCopies(mlir::Block &block);
/// Moves fills before the operation that accumulates into the filled memory.
llvm::DenseSet<mlir::Operation *> gatherFills(mlir::Block &block);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_KERNELS_KERNELGROUPS_H

//===- BarrierPlacement.h - barriers of block-level kernels -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H

#include "Accesses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa::bgpu {

/// Finds conflicting accesses of different threads, one of which writes, that no barrier separates.
class BarrierPlacement {
public:
  enum class Missing { Insert, Refuse };
  explicit BarrierPlacement(Missing missing) : missing(missing) {}

  /// Visits the accesses of `block` in order. Inserts each missing barrier or fails with a
  /// diagnostic, depending on the mode. Also fails with a diagnostic if the accesses of an
  /// operation are unknown.
  llvm::LogicalResult visitBlock(mlir::Block &block);
  int64_t getNumBarriers() const { return numBarriers; }
  int64_t getNumWarpBarriers() const { return numWarpBarriers; }

private:
  /// An access not yet followed by a block barrier.
  struct Open {
    Access access;
    /// The number of enclosing trial visits that began after the access.
    int64_t age;
    /// True if a warp barrier follows the access.
    bool isBeforeWarp = false;
  };

  llvm::LogicalResult visitLoop(mlir::scf::ForOp loop);
  llvm::LogicalResult visitBranches(mlir::scf::IfOp branch);
  llvm::LogicalResult visit(mlir::Operation *op);
  bool isOtherSlot(const Access &own, const Open &other);
  /// Returns the scope of the barrier needed between `other` and `own`.
  Scope findConflict(const Access &own, const Open &other);
  /// Returns the scope of the barrier that `block` needs for accesses that are open before it,
  /// without inserting barriers. Afterwards the open accesses include those of `block`.
  llvm::FailureOr<Scope> tryBlock(mlir::Block &block);
  /// Adds a barrier for `op`. `where` describes its position in a diagnostic.
  llvm::LogicalResult addBarrier(mlir::Operation *before, mlir::Operation *op, Scope scope,
                                 llvm::StringRef where);
  /// Removes accesses that a barrier of this scope separates from later ones.
  void close(Scope scope);
  void leaveOpen(llvm::ArrayRef<Open> accesses);

  Missing missing;
  llvm::SmallVector<Open> open;
  bool isTrying = false;
  Scope waitsForBefore = Scope::None;
  /// The loop whose next iteration is being tried; null otherwise.
  mlir::scf::ForOp next;
  int64_t numBarriers = 0, numWarpBarriers = 0;
};

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H

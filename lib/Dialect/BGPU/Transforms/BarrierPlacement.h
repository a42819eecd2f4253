//===- BarrierPlacement.h - where blocks wait for each other ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H

#include "Accesses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa::bgpu {

/// The barriers of a kernel: finds accesses of different threads of which one writes, with no
/// barrier between them.
class BarrierPlacement {
public:
  enum class Missing { Insert, Refuse };
  explicit BarrierPlacement(Missing missing) : missing(missing) {}

  /// Visits the accesses of `block` in order. Puts a barrier where one is missing, or fails there
  /// after a diagnostic, and fails so where the accesses of an operation are not known.
  llvm::LogicalResult visitBlock(mlir::Block &block);
  /// Barriers of the block, and of each warp alone.
  int64_t getNumBarriers() const { return numBarriers; }
  int64_t getNumWarpBarriers() const { return numWarpBarriers; }

private:
  /// An access that no barrier separates from what is visited now.
  struct Open {
    Access access;
    /// How many of the bodies that are tried, one in another, began after it.
    int64_t age;
    /// Whether a barrier of its warp does.
    bool isBeforeWarp = false;
  };

  llvm::LogicalResult visitLoop(mlir::scf::ForOp loop);
  llvm::LogicalResult visitBranches(mlir::scf::IfOp branch);
  llvm::LogicalResult visit(mlir::Operation *op);
  bool isOtherSlot(const Access &own, const Open &other);
  /// Threads that have to wait for each other between `other` and `own`.
  Scope findConflict(const Access &own, const Open &other);
  /// Threads that have to wait in `block` for what is open now; inserts nothing. What is open then
  /// includes what `block` leaves open.
  llvm::FailureOr<Scope> tryBlock(mlir::Block &block);
  /// `where` is what a diagnostic says of `op`, which waits.
  llvm::LogicalResult addBarrier(mlir::Operation *before, mlir::Operation *op, Scope scope,
                                 llvm::StringRef where);
  /// What a barrier of so many threads separates from what follows is open no more.
  void close(Scope scope);
  void leaveOpen(llvm::ArrayRef<Open> accesses);

  Missing missing;
  llvm::SmallVector<Open> open;
  bool isTrying = false;
  Scope waitsForBefore = Scope::None;
  /// The loop whose next iteration is tried; null elsewhere.
  mlir::scf::ForOp next;
  int64_t numBarriers = 0, numWarpBarriers = 0;
};

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H

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

  /// Inserts each missing barrier, or fails with a diagnostic, depending on the mode. Also fails if
  /// the accesses of an operation are unknown.
  llvm::LogicalResult visitBlock(mlir::Block &block);
  int64_t getNumBarriers() const { return numBarriers; }
  int64_t getNumWarpBarriers() const { return numWarpBarriers; }

private:
  struct Open {
    Access access;
    /// Number of enclosing trial visits that began after the access.
    int64_t age;
    bool isBeforeWarp = false;
  };

  llvm::LogicalResult visitLoop(mlir::scf::ForOp loop);
  llvm::LogicalResult visitBranches(mlir::scf::IfOp branch);
  llvm::LogicalResult visit(mlir::Operation *op);
  bool isOtherSlot(const Access &own, const Open &other);
  Scope findConflict(const Access &own, const Open &other);
  /// Like visitBlock, but inserts no barriers and keeps the accesses of `block` open.
  llvm::FailureOr<Scope> tryBlock(mlir::Block &block);
  llvm::LogicalResult addBarrier(mlir::Operation *before, mlir::Operation *op, Scope scope,
                                 llvm::StringRef where);
  void close(Scope scope);
  void leaveOpen(llvm::ArrayRef<Open> accesses);

  Missing missing;
  llvm::SmallVector<Open> open;
  bool isTrying = false;
  Scope waitsForBefore = Scope::None;
  mlir::scf::ForOp next;
  int64_t numBarriers = 0, numWarpBarriers = 0;
};

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_BARRIERPLACEMENT_H

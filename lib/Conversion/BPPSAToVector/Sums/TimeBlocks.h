//===- TimeBlocks.h - a chain and its sums in time blocks -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H

#include "../CotangentSteps.h"
#include "SumBlocks.h"

namespace bppsa {

/// Returns sums after `chain` of its values whose other operands are available before it.
llvm::SmallVector<mlir::Operation *> findSumsOf(ChainOp chain);

/// Runs a packed chain in time blocks and adds each block's sums while operands are in L2. Batch
/// blocks have separate sums, added from last to first at the end or by `bppsa.finish_sums`. Slabs
/// of 32 steps are added in chain order. Results are bitwise independent of threads and block size.
class TimeBlocks {
public:
  TimeBlocks(mlir::OpBuilder &builder, const CotangentLoop &loop,
             llvm::ArrayRef<mlir::Operation *> sums, const LaneOptions &options);

  void emit(mlir::OpBuilder &builder, mlir::Value block, CotangentSteps &steps, const Rows &state);

  /// Frees the running sums.
  void finish(mlir::OpBuilder &builder);

private:
  /// Sums are `[batch block, row, column, lane]`, or without columns.
  struct RunningSum {
    mlir::Operation *op;
    mlir::Value sums;

    bool isOuter() const;
    /// Owned sums are local to the chain and do not continue from chain to chain.
    bool isOwned() const { return !mlir::isa<AddToSumsOp>(op); }
    llvm::ArrayRef<int64_t> getShape() const {
      return mlir::cast<mlir::MemRefType>(sums.getType()).getShape().drop_front();
    }
  };

  void allocateBuffers(mlir::OpBuilder &builder);
  SlabArray getSteps(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value operand) const;
  void emitStart(mlir::OpBuilder &builder, mlir::Value block, const RunningSum &sum) const;
  void emitSlab(mlir::OpBuilder &builder, const LaneSlab &slab, const RunningSum &sum) const;
  /// True if after a zero cotangent nothing is added to sums, and emitted values are zero or not
  /// stored.
  bool endsWithZero() const;

  CotangentLoop loop;
  mlir::ModuleOp module;
  mlir::Location loc;
  LaneOptions options;
  llvm::SmallVector<RunningSum> sums;
  /// Buffer of each emitted value for a block; null if it has other readers.
  llvm::SmallVector<mlir::Value> buffers;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H

//===- TimeBlocks.h - a chain and its sums, block by block ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H

#include "../CotangentSteps.h"
#include "SumBlocks.h"

namespace bppsa {

/// The sums behind `chain` that read what it emits or reads and could be made while it runs: all
/// their operands are there before it.
llvm::SmallVector<mlir::Operation *> findSumsOf(ChainOp chain);

/// Runs a packed chain block of time by block of time and adds up the sums of each block while
/// what they read is in the second-level cache.
///
/// Every batch block has running sums of its own, which are added from the last batch block to the
/// first at the end, or by a `bppsa.finish_sums` where they go on behind the chain. Within one,
/// slabs of 32 steps are added in the order of the chain. So no number of threads and no size of
/// blocks changes a bit.
class TimeBlocks {
public:
  /// Allocates the running sums of `sums` at the insertion point.
  TimeBlocks(mlir::OpBuilder &builder, const CotangentLoop &loop,
             llvm::ArrayRef<mlir::Operation *> sums, const LaneOptions &options);

  /// Emits the chain on batch block `block` with its sums, from the cotangents in `state`.
  void emit(mlir::OpBuilder &builder, mlir::Value block, CotangentSteps &steps, const Rows &state);

  /// Writes the results of the sums and frees what the constructor allocated.
  void finish(mlir::OpBuilder &builder);

private:
  /// A sum and its running sums: `[batch block, row, column, lane]`, or without columns.
  struct RunningSum {
    mlir::Operation *op;
    mlir::Value sums;

    bool isOuter() const;
    /// Whether they begin and end with the chain: others go on from chain to chain.
    bool isOwned() const { return !mlir::isa<AddToSumsOp>(op); }
    /// Of one batch block.
    llvm::ArrayRef<int64_t> getShape() const {
      return mlir::cast<mlir::MemRefType>(sums.getType()).getShape().drop_front();
    }
  };

  void allocateBuffers(mlir::OpBuilder &builder);
  /// The steps of `slab` in `operand` of a sum.
  SlabArray getSteps(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value operand) const;
  /// Sets the running sums of batch block `block` to zero.
  void emitStart(mlir::OpBuilder &builder, mlir::Value block, const RunningSum &sum) const;
  /// Adds the steps of `slab` to them.
  void emitSlab(mlir::OpBuilder &builder, const LaneSlab &slab, const RunningSum &sum) const;
  /// Whether the steps before a cotangent of zero add nothing to a sum and can be told what they
  /// emit.
  bool endsWithZero() const;

  CotangentLoop loop;
  mlir::ModuleOp module;
  mlir::Location loc;
  LaneOptions options;
  llvm::SmallVector<RunningSum> sums;
  /// For each emitted value the buffer of the steps of a block, null where it is written to its
  /// sequence: somebody else reads that.
  llvm::SmallVector<mlir::Value> buffers;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H

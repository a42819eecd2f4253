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

/// Returns the sums after `chain` that use values it emits or reads and can be computed during the
/// chain, because all other operands are available before it.
llvm::SmallVector<mlir::Operation *> findSumsOf(ChainOp chain);

/// Runs a packed chain in time blocks. The sums of each block are added up while their operands are
/// in the L2 cache.
///
/// Each batch block has its own running sums, which are added from the last batch block to the
/// first at the end, or by a `bppsa.finish_sums` if they continue after the chain. Within a batch
/// block, slabs of 32 steps are added in the order of the chain. The result is therefore bitwise
/// independent of the number of threads and the size of blocks.
class TimeBlocks {
public:
  TimeBlocks(mlir::OpBuilder &builder, const CotangentLoop &loop,
             llvm::ArrayRef<mlir::Operation *> sums, const LaneOptions &options);

  /// Emits the chain with its sums on batch block `block`, starting from the cotangents in `state`.
  void emit(mlir::OpBuilder &builder, mlir::Value block, CotangentSteps &steps, const Rows &state);

  /// Writes the results of the sums and frees the running sums.
  void finish(mlir::OpBuilder &builder);

private:
  /// A sum and its running sums, `[batch block, row, column, lane]`, or without columns.
  struct RunningSum {
    mlir::Operation *op;
    mlir::Value sums;

    bool isOuter() const;
    /// True if the running sums are local to the chain, false if they continue from chain to chain.
    bool isOwned() const { return !mlir::isa<AddToSumsOp>(op); }
    llvm::ArrayRef<int64_t> getShape() const {
      return mlir::cast<mlir::MemRefType>(sums.getType()).getShape().drop_front();
    }
  };

  void allocateBuffers(mlir::OpBuilder &builder);
  /// Returns the steps of `slab` of an operand of a sum.
  SlabArray getSteps(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value operand) const;
  void emitStart(mlir::OpBuilder &builder, mlir::Value block, const RunningSum &sum) const;
  void emitSlab(mlir::OpBuilder &builder, const LaneSlab &slab, const RunningSum &sum) const;
  /// Returns true if steps after a zero cotangent add nothing to any sum, and their emitted values
  /// are zero or not stored.
  bool endsWithZero() const;

  CotangentLoop loop;
  mlir::ModuleOp module;
  mlir::Location loc;
  LaneOptions options;
  llvm::SmallVector<RunningSum> sums;
  /// For each emitted value, a buffer for the steps of a block. Null if it is written to its
  /// sequence because of other readers.
  llvm::SmallVector<mlir::Value> buffers;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_TIMEBLOCKS_H

//===- SumBlocks.h - blocking of sums over steps ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H

#include "../BPPSAToVector.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// A sequence, or the steps of one slab, `[steps, N, L]`.
struct SlabArray {
  mlir::Value array;
  bool isSlab = false;
  /// True if all of the array is in a cache.
  bool isInCache = false;

  int64_t getNumRows() const { return getType().getDimSize(isSlab ? 1 : 2); }
  /// Returns true if rows of neighbouring steps are at least a page apart. Few of them then stay in
  /// the L1 cache, because they map to the same sets, and the hardware prefetcher does not reach
  /// the next step.
  bool hasDistantSteps() const;
  /// Returns the rows of step `step` of `slab`, from `first` on.
  Rows getRows(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab, mlir::Value step,
               int64_t first = 0) const;

private:
  mlir::MemRefType getType() const { return mlir::cast<mlir::MemRefType>(array.getType()); }
};

/// The blocking of the products of a slab of an outer sum; the sums of a block stay in registers.
struct OuterBlocking {
  int64_t rows, cols;
  /// The number of parts into which lanes are split. A block has sums for one part.
  int64_t parts;
  bool fetchesAhead;

  /// Returns true if rows of `array` that no block has read yet are prefetched.
  bool fetches(const SlabArray &array) const {
    return fetchesAhead && !array.isInCache && array.hasDistantSteps();
  }

  static OuterBlocking get(const SlabArray &lhs, const SlabArray &rhs, const LaneOptions &options);
};

/// Rows [row0, row0 + rows) of the left operand and [col0, col0 + cols) of the right operand of an
/// outer sum.
struct OuterTile {
  mlir::Value row0, col0;
  int64_t rows, cols;
};

/// Adds outer products slab by slab to running sums in memory.
class OuterSlabSums {
public:
  /// Allocates the scratch memory of one thread at the insertion point. The running sum of row m
  /// and column n of a tile is `sums[prefix..., m, n]`. Tiles have at most `maxCols` columns.
  OuterSlabSums(mlir::OpBuilder &builder, mlir::Location loc, SlabArray lhs, SlabArray rhs,
                OuterBlocking blocking, int64_t maxCols);

  void emit(mlir::OpBuilder &builder, const LaneSlab &slab, const OuterTile &tile,
            const Rows &sums) const;
  void emitAll(mlir::OpBuilder &builder, const LaneSlab &slab, const Rows &sums) const;

private:
  struct OperandRows;
  struct ProductBlock;
  void emitProducts(mlir::OpBuilder &builder, const LaneSlab &slab, const ProductBlock &block,
                    const Rows &sums) const;
  void emitParts(mlir::OpBuilder &builder, const LaneSlab &slab, ProductBlock block,
                 const Rows &sums) const;
  /// Loads a row, or the part of it that begins at `lane`.
  mlir::Value loadRow(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value step,
                      mlir::Value lane, const OperandRows &operand) const;

  mlir::Location loc;
  SlabArray lhs, rhs;
  OuterBlocking blocking;
  /// Contiguous copies of operand rows, `[row, step, lane]`, that later blocks read again: rows of
  /// a block of the left operand, and rows of all columns of a tile of the right operand. Null if
  /// steps are close enough in the sequence.
  mlir::Value leftRows, rightRows;
};

/// Adds the running sums of `emitStep(step, running sums)` over a slab to `sums`. Running sum `i`
/// is `tiles[i]` of `sums[i]`.
void emitSlabSums(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab,
                  llvm::ArrayRef<Rows> sums, llvm::ArrayRef<Tile> tiles,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value,
                                                                    mlir::ValueRange)>
                      emitStep);

llvm::SmallVector<Tile> getTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows,
                                 mlir::Value first, int64_t count);

void emitStepSlab(mlir::OpBuilder &builder, mlir::Location loc, const SlabArray &sequence,
                  const LaneSlab &slab, const Rows &sums, const LaneOptions &options);

/// The operands of an outer sum if lanes hold units. With `areSwapped` they are exchanged, and the
/// destination receives the transposed sum.
struct OuterOperands {
  mlir::Value lhs, rhs, destination;
  bool areSwapped;

  int64_t getNumRows() const { return getType(lhs).getDimSize(2); }
  int64_t getNumCols() const { return getType(rhs).getDimSize(2); }
  mlir::Type getElementType() const { return getType(lhs).getElementType(); }

private:
  static mlir::MemRefType getType(mlir::Value array) {
    return mlir::cast<mlir::MemRefType>(array.getType());
  }
};

/// Returns the smallest block size that needs no more blocks than `most` does.
int64_t getEvenBlock(int64_t size, int64_t most);

/// Calls `emit` for the slabs of all batch blocks of a packed sequence, from the last block to the
/// first, and `finish(block)` after each block.
void emitSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence,
               llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> emit,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> finish = nullptr);

/// Clears the lanes of `rows` without a sample in batch block `block`. If `batch`, the number of
/// samples, is null, all lanes have samples.
void emitClearPadding(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value batch,
                      mlir::Value block, const Rows &rows, int64_t count);

/// Calls `store(row, sum)` with the lane sum of each of `count` rows.
void emitLaneSums(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> store);

/// Calls `emit` for each row of running sums, or once for a sum without columns, with the number of
/// sums. `shape` is `[row, column, lane]`, or without columns.
void forEachRow(
    mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value> row, int64_t count)>
        emit);

/// Adds up the running sums of all batch blocks, `[block, row, column, lane]` or without columns,
/// and writes the result to `destination`. Lanes without one of `batch` samples are ignored; if
/// `batch` is null, all lanes have samples.
void emitFinishSums(mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc,
                    mlir::Value sums, mlir::Value batch, mlir::Value destination);

/// Lowers an outer sum if lanes hold units.
void lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H

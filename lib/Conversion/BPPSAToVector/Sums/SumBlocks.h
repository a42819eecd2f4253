//===- SumBlocks.h - how sums over samples and steps are cut ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H

#include "../BPPSAToVector.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// A sequence, or the steps of one slab alone, `[steps, N, L]`.
struct SlabArray {
  mlir::Value array;
  bool isSlab = false;
  /// Whether all of it is in a cache.
  bool isInCache = false;

  int64_t getNumRows() const { return getType().getDimSize(isSlab ? 1 : 2); }
  /// Whether the rows of neighbouring steps are pages apart. Few of them then stay in
  /// the first-level cache, whose sets they share, and the hardware does not look
  /// ahead as far as the next step.
  bool hasDistantSteps() const;
  /// Rows of step `step` of `slab`, from `first` on.
  Rows getRows(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab, mlir::Value step,
               int64_t first = 0) const;

private:
  mlir::MemRefType getType() const { return mlir::cast<mlir::MemRefType>(array.getType()); }
};

/// How the products of a slab of an outer sum are cut into blocks of sums that stay in registers.
struct OuterBlocking {
  int64_t rows, cols;
  /// Into how many parts lanes are cut, for each of which a block has sums.
  int64_t parts;
  bool fetchesAhead;

  /// Whether rows of `array` that no block has read are fetched ahead.
  bool fetches(const SlabArray &array) const {
    return fetchesAhead && !array.isInCache && array.hasDistantSteps();
  }

  static OuterBlocking get(const SlabArray &lhs, const SlabArray &rhs, const LaneOptions &options);
};

/// Rows [row0, row0 + rows) of the left operand of an outer sum, and those of the right one that
/// are its columns [col0, col0 + cols).
struct OuterTile {
  mlir::Value row0, col0;
  int64_t rows, cols;
};

/// Adds outer products slab by slab to running sums in memory.
class OuterSlabSums {
public:
  /// Allocates what one thread needs at the insertion point. The running sums of row m and column
  /// n of a tile are `sums[prefix..., m, n]`. Tiles have `maxCols` columns at most.
  OuterSlabSums(mlir::OpBuilder &builder, mlir::Location loc, SlabArray lhs, SlabArray rhs,
                OuterBlocking blocking, int64_t maxCols);

  /// Adds the products of `tile` in `slab` to `sums`.
  void emit(mlir::OpBuilder &builder, const LaneSlab &slab, const OuterTile &tile,
            const Rows &sums) const;
  /// The same of all rows and columns.
  void emitAll(mlir::OpBuilder &builder, const LaneSlab &slab, const Rows &sums) const;

private:
  struct OperandRows;
  struct ProductBlock;
  void emitProducts(mlir::OpBuilder &builder, const LaneSlab &slab, const ProductBlock &block,
                    const Rows &sums) const;
  /// Adds the products of all parts of the lanes of `block`.
  void emitParts(mlir::OpBuilder &builder, const LaneSlab &slab, ProductBlock block,
                 const Rows &sums) const;
  /// Loads the part of a row that begins at `lane`, or all of it without `lane`.
  mlir::Value loadRow(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value step,
                      mlir::Value lane, const OperandRows &operand) const;

  mlir::Location loc;
  SlabArray lhs, rhs;
  OuterBlocking blocking;
  /// `[row, step, lane]`: rows of the operands, steps side by side for the blocks that read them
  /// again: of a block of the left one, and of all columns of a tile. Null where they are close
  /// enough in the sequence.
  mlir::Value leftRows, rightRows;
};

/// Adds to rows of `sums` what `emitStep(step, running sums)` adds in a slab: running sum `i`
/// belongs to `tiles[i]` of `sums[i]`.
void emitSlabSums(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab,
                  llvm::ArrayRef<Rows> sums, llvm::ArrayRef<Tile> tiles,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value,
                                                                    mlir::ValueRange)>
                      emitStep);

/// The tiles of `count` rows of `rows` from `first`.
llvm::SmallVector<Tile> getTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows,
                                 mlir::Value first, int64_t count);

/// Adds the rows of the steps of `slab` to `sums`.
void emitStepSlab(mlir::OpBuilder &builder, mlir::Location loc, const SlabArray &sequence,
                  const LaneSlab &slab, const Rows &sums, const LaneOptions &options);

/// The operands of an outer sum over units. With `areSwapped` they have changed
/// places, and the destination is to hold the transposed sum.
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

/// The largest size that needs no more blocks than `most` does: even blocks.
int64_t getEvenBlock(int64_t size, int64_t most);

/// Calls `emit` for the slabs of all batch blocks of a packed sequence, from the
/// last block to the first, and `finish(block)` at the end of each block.
void emitSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence,
               llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> emit,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> finish = nullptr);

/// Sets the lanes of `rows` that hold no sample of batch block `block` to zero.
/// Without `batch`, the number of samples, there are none.
void emitClearPadding(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value batch,
                      mlir::Value block, const Rows &rows, int64_t count);

/// Calls `store(row, sum)` with the sum over the lanes of each of `count` rows.
void emitLaneSums(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> store);

/// Calls `emit` with the running sums of each row of a sum, or of all of a sum without columns, and
/// how many they are. `shape` is `[row, column, lane]`, or without columns.
void forEachRow(
    mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value> row, int64_t count)>
        emit);

/// Writes to `destination` what the running sums of all batch blocks, `[block, row, column, lane]`
/// or without columns, add up to. Lanes that hold none of `batch` samples are left out; without
/// `batch` every lane holds one.
void emitFinishSums(mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc,
                    mlir::Value sums, mlir::Value batch, mlir::Value destination);

/// The sum where vectors hold units.
void lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H

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

/// A sequence, or one slab: `[steps, N, L]`.
struct SlabArray {
  mlir::Value array;
  bool isSlab = false;
  bool isInCache = false;

  int64_t getNumRows() const { return getType().getDimSize(isSlab ? 1 : 2); }
  /// True if rows of neighbouring steps are at least a page apart. They then map to the same L1
  /// sets, and hardware prefetch does not reach the next step.
  bool hasDistantSteps() const;
  Rows getRows(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab, mlir::Value step,
               int64_t first = 0) const;

private:
  mlir::MemRefType getType() const { return mlir::cast<mlir::MemRefType>(array.getType()); }
};

/// Blocking of a slab's products; sums stay in registers.
struct OuterBlocking {
  int64_t rows, cols;
  /// Lanes are split into parts; a block has sums for one.
  int64_t parts;
  bool fetchesAhead;

  /// True if rows that no block has read yet are prefetched.
  bool fetches(const SlabArray &array) const {
    return fetchesAhead && !array.isInCache && array.hasDistantSteps();
  }

  static OuterBlocking get(const SlabArray &lhs, const SlabArray &rhs, const LaneOptions &options);
};

struct OuterTile {
  mlir::Value row0, col0;
  int64_t rows, cols;
};

/// Adds outer products slab by slab to sums in memory.
class OuterSlabSums {
public:
  /// Allocates a thread's scratch memory. The sum of row m and column n of a tile, of at most
  /// `maxCols` columns, is `sums[prefix..., m, n]`.
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
  /// Loads a row, or the part from `lane` on.
  mlir::Value loadRow(mlir::OpBuilder &builder, const LaneSlab &slab, mlir::Value step,
                      mlir::Value lane, const OperandRows &operand) const;

  mlir::Location loc;
  SlabArray lhs, rhs;
  OuterBlocking blocking;
  /// Copies `[row, step, lane]` of rows read again, of a left block and of all right columns of a
  /// tile. Null if steps are close enough.
  mlir::Value leftRows, rightRows;
};

/// Adds running sum `i` of `emitStep` over a slab to `tiles[i]` of `sums[i]`.
void emitSlabSums(mlir::OpBuilder &builder, mlir::Location loc, const LaneSlab &slab,
                  llvm::ArrayRef<Rows> sums, llvm::ArrayRef<Tile> tiles,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Value,
                                                                    mlir::ValueRange)>
                      emitStep);

llvm::SmallVector<Tile> getTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows,
                                 mlir::Value first, int64_t count);

void emitStepSlab(mlir::OpBuilder &builder, mlir::Location loc, const SlabArray &sequence,
                  const LaneSlab &slab, const Rows &sums, const LaneOptions &options);

/// Used if lanes hold units. With `areSwapped`, operands are exchanged and the destination is
/// transposed.
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

/// Returns the smallest size that needs no more blocks than `most`.
int64_t getEvenBlock(int64_t size, int64_t most);

/// Visits the slabs of batch blocks from last to first, with `finish(block)` after each block.
void emitSlabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence,
               llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> emit,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> finish = nullptr);

/// If `batch` is null, all lanes have samples.
void emitClearPadding(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value batch,
                      mlir::Value block, const Rows &rows, int64_t count);

/// `sum` is the sum over lanes of a row.
void emitLaneSums(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> store);

/// Visits each row of sums, or a sum without columns once. `shape` is `[row, column, lane]`, or
/// without columns.
void forEachRow(
    mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value> row, int64_t count)>
        emit);

/// Adds up `[block, row, column, lane]`, or without columns. Lanes without one of `batch` samples
/// are ignored; if null, all have samples.
void emitFinishSums(mlir::OpBuilder &builder, mlir::ModuleOp module, mlir::Location loc,
                    mlir::Value sums, mlir::Value batch, mlir::Value destination);

void lowerUnitOuterSum(OuterSumOp op, const LaneOptions &options);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_SUMS_SUMBLOCKS_H

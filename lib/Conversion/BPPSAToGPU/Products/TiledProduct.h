//===- TiledProduct.h - large products on tensor cores ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the product of two matrices that are in device memory. It
// copies 16 rows and columns of the depth at a time to shared memory, asynchronously and
// three such chunks ahead. Each of its four warps has a quarter of the tile, of which it
// reads a part of a factor once for several products of tensor cores.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TILEDPRODUCT_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TILEDPRODUCT_H

#include "../Steps/CopySlots.h"
#include "ArrayStack.h"
#include "TensorTile.h"
#include <functional>

namespace bppsa {

/// What the rows of a factor are as it lies in memory: elements of a row are neighbours.
enum class FactorRows { OfDepth, OfSide };

/// Whether the rows of `array` can be copied: `[row, column]`, or a sequence `[step, sample,
/// column]`, the row step * samples + sample of which is that.
bool isTiledFactor(mlir::Value array);

/// Whether the vectors of `array`, its last dimension, may be stacked behind those of others. Not
/// where they are copied element by element: for each one a thread would have registers for its
/// array.
bool isStackedVector(mlir::Value array);

/// Adds up `sums[i, j] += left[i, d] right[d, j]` over d. Left has rows, and right columns, as
/// its side.
class TiledProduct {
public:
  /// For a result of `rows` rows, which may be dynamic, and `columns` columns.
  TiledProduct(mlir::Location loc, TensorPrecision precision, int64_t rows, int64_t columns,
               FactorRows left, FactorRows right);

  static constexpr int64_t kThreads = 4 * kWarpThreads;
  /// Rows and columns of the result that a block has.
  int64_t getTileRows() const { return left.side; }
  int64_t getTileColumns() const { return right.side; }
  llvm::SmallVector<mlir::MemRefType> getSharedTypes(mlir::OpBuilder &builder) const;

  // Inside of a launch, by all threads of a block.

  /// Begins the tile whose first element is at (`row`, `column`), and gives the sums of the thread:
  /// `start(column)` each, or zeros.
  using Start = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value column)>;
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, const LaunchedThread &thread,
                                       mlir::Value row, mlir::Value column, Start start = nullptr);
  /// Adds the products of [first, last) of the depth of two factors. The arrays of each are stacked
  /// along its side. What they do not have is zero.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, mlir::ValueRange leftArrays,
                                          mlir::ValueRange rightArrays, mlir::Value first,
                                          mlir::Value last, mlir::ValueRange sums);
  /// Stores sums of a row at columns that are given.
  using StoreInRow = std::function<void(mlir::OpBuilder &, mlir::Value column, mlir::Value sum)>;
  /// Stores the thread's sums: those with a row below `rows` and a column below `columns`, by what
  /// `getStore(row)` gives.
  void store(mlir::OpBuilder &builder, mlir::ValueRange sums, mlir::Value rows, int64_t columns,
             llvm::function_ref<StoreInRow(mlir::OpBuilder &, mlir::Value row)> getStore) const;

private:
  /// A factor's part of the tile.
  struct Factor {
    Factor(FactorRows rows, int64_t size, int64_t tileSize);

    FactorRows rows;
    /// Elements of its side that a block has, those of a tile of tensor cores, and such tiles of
    /// each warp.
    int64_t side, tileSize, tiles;
    /// The first one of the block, in memory, and of the warp, in shared memory.
    mlir::Value firstOfBlock, firstOfWarp;
    mlir::Value shared;
    ArrayStack arrays;
    /// The row that this thread copies to, and its number among those that copy to it.
    mlir::Value row, part;

    int64_t getNumRows() const { return rows == FactorRows::OfDepth ? kDepth : side; }
    int64_t getRowSize() const { return rows == FactorRows::OfDepth ? side : kDepth; }
    /// Threads that copy a row.
    int64_t getNumParts() const { return kThreads / getNumRows(); }
    /// Arrays that are stacked along the side: its dimension, before the last one or the last one.
    ArrayStack stack(mlir::ValueRange stacked) const;
  };
  /// A row in memory: its array, where that is the same for all of the row, the indices before the
  /// last one, and whether there is such a row.
  struct SourceRow {
    mlir::Value array;
    llvm::SmallVector<mlir::Value> at;
    mlir::Value exists;
  };
  static constexpr int64_t kDepth = 16;

  void beginFactor(mlir::OpBuilder &builder, Factor &factor, mlir::Value shared, mlir::Value first,
                   mlir::Value warpOfSide);
  /// Where entry `entry` of the thread's sums is in the result.
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t entry) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, int64_t entry) const;
  SourceRow getSideRow(mlir::OpBuilder &builder, const Factor &factor) const;
  void findDepthRows(mlir::OpBuilder &builder, const Factor &factor);
  SourceRow getDepthRow(mlir::OpBuilder &builder, mlir::Value chunk, mlir::ValueRange digits) const;
  llvm::SmallVector<mlir::Value> getNextDigits(mlir::OpBuilder &builder, mlir::ValueRange digits);
  llvm::SmallVector<mlir::Value> request(mlir::OpBuilder &builder, mlir::Value chunk,
                                         mlir::ValueRange digits);
  void copy(mlir::OpBuilder &builder, const Factor &factor, mlir::Value chunk,
            const SourceRow &source) const;
  mlir::Value load(mlir::OpBuilder &builder, const Factor &factor, mlir::Value slot,
                   mlir::Value side, mlir::Value depth) const;
  llvm::SmallVector<mlir::Value> multiplyChunk(mlir::OpBuilder &builder, mlir::Value chunk,
                                               mlir::ValueRange sums) const;

  mlir::Location loc;
  TensorTile tile;
  Factor left, right;
  CopySlots slots;

  // Of the launch that is emitted.
  LaunchedThread thread = {};
  // Of the arrays that are multiplied.
  mlir::Value firstDepth, lastDepth;
  SourceRow leftRow, rightRow;
  /// The row of the first chunk that this thread copies where rows are of the depth, with its
  /// digits where there are samples; how many samples; and 16 rows in such digits.
  mlir::Value depthRow, numSamples, chunkSteps, chunkSamples;
  llvm::SmallVector<mlir::Value> firstDigits;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TILEDPRODUCT_H

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

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H

#include "../../../Codegen/GPU/FragmentLayout.h"
#include "ArrayStack.h"
#include <functional>

namespace bppsa {

/// What the rows of a factor are as it lies in memory: elements of a row are neighbours.
enum class FactorRows { OfDepth, OfSide };

/// Adds up `sums[i, j] += left[i, d] right[d, j]` over d, in a kernel. Left has rows, and right
/// columns, as its side.
class TiledProduct {
public:
  /// For a result of `rows` rows, which may be dynamic, and `columns` columns.
  TiledProduct(mlir::Location loc, TensorPrecision precision, int64_t rows, int64_t columns,
               FactorRows left, FactorRows right);

  static constexpr int64_t kThreads = cost::kTiledProductThreads;
  /// Rows and columns of the result that a block has.
  int64_t getTileRows() const { return left.side; }
  int64_t getTileColumns() const { return right.side; }

  // In a kernel of so many threads.

  /// Begins the tile whose first element is at (`row`, `column`), and gives its sums, tiles of
  /// fragments: `start(column)` each, or zeros.
  using Start = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value column)>;
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, mlir::Value row,
                                       mlir::Value column, Start start = nullptr);
  /// Adds the products of [first, last) of the depth of two factors. The arrays of each are stacked
  /// along its side. What they do not have is zero.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, mlir::ValueRange leftArrays,
                                          mlir::ValueRange rightArrays, mlir::Value first,
                                          mlir::Value last, mlir::ValueRange sums);
  /// Stores sums of a row at columns that are given.
  using StoreInRow = std::function<void(mlir::OpBuilder &, mlir::Value column, mlir::Value sum)>;
  /// Stores sums: those with a row below `rows` and a column below `columns`, by what
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
    /// The first element of the side that the block has.
    mlir::Value first;
    /// The chunks in shared memory, `[slot, row, element]`.
    mlir::Value shared;
    ArrayStack arrays;

    int64_t getNumRows() const { return rows == FactorRows::OfDepth ? kDepth : side; }
    int64_t getRowSize() const { return rows == FactorRows::OfDepth ? side : kDepth; }
    /// Threads that copy a row.
    int64_t getNumParts() const { return kThreads / getNumRows(); }
    /// Arrays that are stacked along the side: its dimension, before the last one or the last one.
    ArrayStack stack(mlir::ValueRange stacked) const;
  };
  /// The place of a thread, in a body on fragments.
  struct OwnThread {
    FragmentLayout layout;
    /// The first row and column of its warp in the tile of the block.
    mlir::Value firstRow, firstColumn;
  };
  /// A row in memory: its array, where that is the same for all of the row, the indices before the
  /// last one, and whether there is such a row.
  struct SourceRow {
    mlir::Value array;
    llvm::SmallVector<mlir::Value> at;
    mlir::Value exists;
  };
  /// What a thread copies: a part of a row in a slot.
  struct ChunkPart {
    mlir::Value slot, row, part;
  };
  /// The depth of a chunk. Chunks in shared memory: one that is multiplied, and three ahead.
  static constexpr int64_t kDepth = 16, kSlots = 4, kAhead = kSlots - 1;

  mlir::Value allocate(mlir::OpBuilder &builder, const Factor &factor) const;
  OwnThread getThread(mlir::OpBuilder &builder, mlir::ValueRange position) const;
  /// Where entry `i` of fragment `number` of the sums of a thread is in the result.
  mlir::Value getRow(mlir::OpBuilder &builder, const OwnThread &thread, int64_t number,
                     int64_t i) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, const OwnThread &thread, int64_t number,
                        int64_t i) const;

  SourceRow getSideRow(mlir::OpBuilder &builder, const Factor &factor, mlir::Value row) const;
  SourceRow getDepthRow(mlir::OpBuilder &builder, mlir::Value first, mlir::Value row,
                        mlir::ValueRange digits) const;
  llvm::SmallVector<mlir::Value> getFirstDigits(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> getNextDigits(mlir::OpBuilder &builder,
                                               mlir::ValueRange digits) const;
  llvm::SmallVector<mlir::Value> request(mlir::OpBuilder &builder, mlir::Value chunk,
                                         mlir::ValueRange digits) const;
  void requestFactor(mlir::OpBuilder &builder, const Factor &factor, mlir::Value chunk,
                     mlir::ValueRange digits) const;
  void copyPart(mlir::OpBuilder &builder, const Factor &factor, const SourceRow &source,
                mlir::Value depth, const ChunkPart &to) const;
  void wait(mlir::OpBuilder &builder, mlir::Value chunk) const;

  mlir::Value load(mlir::OpBuilder &builder, const Factor &factor, mlir::Value slot,
                   mlir::Value side, mlir::Value depth) const;
  llvm::SmallVector<mlir::Value> readFragments(mlir::OpBuilder &builder, const Factor &factor,
                                               mlir::Value slot, int64_t depth, int64_t first,
                                               int64_t count) const;
  llvm::SmallVector<mlir::Value> multiplyChunk(mlir::OpBuilder &builder, mlir::Value chunk,
                                               mlir::ValueRange sums) const;

  mlir::Location loc;
  TensorPrecision precision;
  Factor left, right;

  // Of the arrays that are multiplied.
  mlir::Value firstDepth, lastDepth;
  /// A factor whose rows are of the depth; null without one. Where they are steps of samples, how
  /// many samples there are, and a chunk of rows in such digits.
  const Factor *ofDepth = nullptr;
  mlir::Value numSamples, chunkSteps, chunkSamples;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H

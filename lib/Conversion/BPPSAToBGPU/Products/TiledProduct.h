//===- TiledProduct.h - tiled products on tensor cores ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of a matrix product. It copies chunks of depth 16 to shared memory three
// chunks ahead; each of four warps computes a quarter of the tile.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H

#include "../../../Codegen/GPU/FragmentLayout.h"
#include "ArrayStack.h"
#include <functional>

namespace bppsa {

/// Contiguous rows run along the side (`OfDepth`) or the depth (`OfSide`).
enum class FactorRows { OfDepth, OfSide };

/// Computes `sums[i, j] += left[i, d] right[d, j]` over d. The sides are the rows of `left` and the
/// columns of `right`.
class TiledProduct {
public:
  TiledProduct(mlir::Location loc, TensorPrecision precision, int64_t rows, int64_t columns,
               FactorRows left, FactorRows right);

  static constexpr int64_t kThreads = cost::kTiledProductThreads;
  int64_t getTileRows() const { return left.side; }
  int64_t getTileColumns() const { return right.side; }

  // The following functions emit code in a kernel of `kThreads` threads.

  /// Begins the tile at (`row`, `column`). Returns its sums, as fragments, initialized to
  /// `start(column)` or zero.
  using Start = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value column)>;
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, mlir::Value row,
                                       mlir::Value column, Start start = nullptr);
  /// Adds the product over depth [first, last). Factors are stacked along their sides;
  /// out-of-bounds elements are zero.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, mlir::ValueRange leftArrays,
                                          mlir::ValueRange rightArrays, mlir::Value first,
                                          mlir::Value last, mlir::ValueRange sums);
  using StoreInRow = std::function<void(mlir::OpBuilder &, mlir::Value column, mlir::Value sum)>;
  void store(mlir::OpBuilder &builder, mlir::ValueRange sums, mlir::Value rows, int64_t columns,
             llvm::function_ref<StoreInRow(mlir::OpBuilder &, mlir::Value row)> getStore) const;

private:
  struct Factor {
    Factor(FactorRows rows, int64_t size, int64_t tileSize);

    FactorRows rows;
    /// Sizes along the side: block tile, tensor-core tile, and tiles per warp.
    int64_t side, tileSize, tiles;
    mlir::Value first;
    /// Chunks in shared memory: `[slot, row, element]`.
    mlir::Value shared;
    ArrayStack arrays;

    int64_t getNumRows() const { return rows == FactorRows::OfDepth ? kDepth : side; }
    int64_t getRowSize() const { return rows == FactorRows::OfDepth ? side : kDepth; }
    int64_t getNumParts() const { return kThreads / getNumRows(); }
    /// Stacks along the side, the first or last dimension.
    ArrayStack stack(mlir::ValueRange stacked) const;
  };
  struct ThreadPosition {
    FragmentLayout layout;
    /// First element of the warp in the block tile.
    mlir::Value firstRow, firstColumn;
  };
  /// The array if it contains the whole row, all indices except the last, and whether the row
  /// exists.
  struct SourceRow {
    mlir::Value array;
    llvm::SmallVector<mlir::Value> at;
    mlir::Value exists;
  };
  struct ChunkPart {
    mlir::Value slot, row, part;
  };
  /// Depth of a chunk. Shared memory holds the current chunk and three ahead.
  static constexpr int64_t kDepth = 16, kSlots = 4, kAhead = kSlots - 1;

  mlir::Value allocate(mlir::OpBuilder &builder, const Factor &factor) const;
  ThreadPosition getThread(mlir::OpBuilder &builder, mlir::ValueRange position) const;
  /// Return the position of entry `i` of fragment `number` of the sums.
  mlir::Value getRow(mlir::OpBuilder &builder, const ThreadPosition &thread, int64_t number,
                     int64_t i) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, const ThreadPosition &thread, int64_t number,
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

  mlir::Value firstDepth, lastDepth;
  /// A factor with `OfDepth`, or null. If its rows are steps of samples: the number of samples, and
  /// the chunk size in steps and samples.
  const Factor *ofDepth = nullptr;
  mlir::Value numSamples, chunkSteps, chunkSamples;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDPRODUCT_H

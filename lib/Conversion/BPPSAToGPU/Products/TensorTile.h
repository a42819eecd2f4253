//===- TensorTile.h - products of tiles on tensor cores ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H

#include "../../BGPUToGPU/MultiplyTiles.h"
#include "../../GPULaunches/FragmentLayout.h"

namespace bppsa {

/// Reads and multiplies tiles on tensor cores, in launches.
class TensorTile {
public:
  static constexpr int64_t kRows = FragmentLayout::kRows, kColumns = FragmentLayout::kColumns,
                           kEntries = FragmentLayout::kEntries;
  using Fragment = RoundedFragment;
  /// Reads an element of a tile: a float32.
  using Read = FragmentLayout::Read;

  TensorTile(mlir::Location loc, TensorPrecision precision)
      : loc(loc), precision(precision), tiles(loc, precision),
        layout(loc, precision, /*group=*/nullptr, /*inGroup=*/nullptr) {}
  /// Columns of A, which are rows of B.
  int64_t getDepth() const { return getTileDepth(precision); }

  // Inside of a launch, by all threads of a warp.

  /// Finds the elements of thread number `thread` of its block.
  void begin(mlir::OpBuilder &builder, mlir::Value thread);
  Fragment readA(mlir::OpBuilder &builder, Read read) const;
  Fragment readB(mlir::OpBuilder &builder, Read read) const;
  /// The entries of `sums + a b`.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, const Fragment &a,
                                          const Fragment &b, mlir::ValueRange sums) const {
    return tiles.multiply(builder, a, b, sums);
  }
  /// Where entry `i` of a thread is in C.
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t i) const {
    return layout.getRow(builder, i);
  }
  mlir::Value getColumn(mlir::OpBuilder &builder, int64_t i) const {
    return layout.getColumn(builder, i);
  }

private:
  /// Rounds elements as they are read.
  Fragment round(Read read, llvm::function_ref<void(Read)> readAll) const;

  mlir::Location loc;
  TensorPrecision precision;
  TileMultiplication tiles;
  FragmentLayout layout;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H

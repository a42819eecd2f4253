//===- TensorTile.h - products of tiles on tensor cores ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A warp multiplies a tile of 16 rows by one of 8 columns, `mma.sync.m16n8k8`, or
// `mma.sync.m16n8k16` for bf16. Each of its threads has some elements of every tile,
// where the PTX ISA has them ("Matrix Fragments for mma.m16n8k8", "... m16n8k16").
//
// Tensor cores multiply numbers of 11 bits (tf32). A number of 24 bits is the sum of
// two of these and a rest below 2^-22 of it, so three products make one that is nearly
// as exact as in float32 (3xTF32). They cut sums off where float32 is rounded; so only
// the sum of a tile is theirs, and tiles are added by ordinary additions. With less
// precision there is one product, and no rest.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H

#include "../../GPULaunches/Launch.h"
#include "bppsa/Dialect/BPPSA/Analysis/ColumnTilePlan.h"

namespace bppsa {

class TensorTile {
public:
  /// Rows of A and C, and columns of B and C.
  static constexpr int64_t kRows = cost::tileRows, kColumns = cost::tileColumns;
  /// Elements of C that a thread has.
  static constexpr int64_t kEntries = 4;

  /// What a thread has of a factor: of each element its first bits, and the next ones.
  /// Two elements of bf16 are in one register.
  struct Fragment {
    llvm::SmallVector<mlir::Value, 4> high, low;
  };
  /// Reads an element of a tile: a float32.
  using Read =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)>;

  TensorTile(mlir::Location loc, TensorPrecision precision) : loc(loc), precision(precision) {}
  /// Columns of A, which are rows of B.
  int64_t getDepth() const { return getTileDepth(precision); }

  // Inside of a launch, by all threads of a warp.

  /// Finds the elements of thread number `thread` of its block.
  void begin(mlir::OpBuilder &builder, mlir::Value thread);
  Fragment readA(mlir::OpBuilder &builder, Read read) const;
  Fragment readB(mlir::OpBuilder &builder, Read read) const;
  /// The entries of `sums + a b`.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, const Fragment &a,
                                          const Fragment &b, mlir::ValueRange sums) const;
  /// Where entry `i` of a thread is in C.
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t i) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, int64_t i) const;

private:
  bool isBF16() const { return precision == TensorPrecision::BF16; }
  Fragment readFactor(mlir::OpBuilder &builder, llvm::ArrayRef<int64_t> rows,
                      llvm::function_ref<mlir::Value(int64_t row, mlir::Value depth)> read) const;
  mlir::Value roundToBF16(mlir::OpBuilder &builder, mlir::Value first, mlir::Value second) const;
  void addRounded(mlir::OpBuilder &builder, Fragment &fragment, mlir::Value element) const;
  llvm::SmallVector<mlir::Value> multiplyOnce(mlir::OpBuilder &builder, mlir::ValueRange a,
                                              mlir::ValueRange b, mlir::ValueRange sums) const;

  mlir::Location loc;
  TensorPrecision precision;
  /// Number of the thread in a group of four, and of the group in the warp.
  mlir::Value inGroup, group;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_TENSORTILE_H

//===- MultiplyTiles.h - products of tiles on tensor cores ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply numbers of 11 bits (tf32). A number of 24 bits is the sum of
// two of these and a rest below 2^-22 of it, so three products make one that is nearly
// as exact as in float32 (3xTF32). They cut sums off where float32 is rounded; so only
// the sum of a tile is theirs, and tiles are added by ordinary additions. With less
// precision there is one product, and no rest.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H
#define BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H

#include "bppsa/Support/TensorPrecision.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// What a thread has of a factor, rounded: of each element its first bits, and the next ones. Two
/// elements of bf16 are in one register.
struct RoundedFragment {
  llvm::SmallVector<mlir::Value, 4> high, low;
};

/// Products of tiles, in the numbers that one thread has of them (FragmentLayout.h).
class TileMultiplication {
public:
  TileMultiplication(mlir::Location loc, TensorPrecision precision)
      : loc(loc), precision(precision) {}

  TensorPrecision getPrecision() const { return precision; }
  /// Elements that one register has.
  size_t getElementsOfRegister() const { return isBF16() ? 2 : 1; }
  /// Adds the elements of one register to `fragment`.
  void addRounded(mlir::OpBuilder &builder, RoundedFragment &fragment,
                  mlir::ValueRange elements) const;
  /// The entries of `sums + a b`.
  llvm::SmallVector<mlir::Value> multiply(mlir::OpBuilder &builder, const RoundedFragment &a,
                                          const RoundedFragment &b, mlir::ValueRange sums) const;

private:
  bool isBF16() const { return precision == TensorPrecision::BF16; }
  mlir::Value roundToBF16(mlir::OpBuilder &builder, mlir::Value first, mlir::Value second) const;
  llvm::SmallVector<mlir::Value> multiplyOnce(mlir::OpBuilder &builder, mlir::ValueRange a,
                                              mlir::ValueRange b, mlir::ValueRange sums) const;

  mlir::Location loc;
  TensorPrecision precision;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H

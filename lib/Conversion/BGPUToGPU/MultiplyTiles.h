//===- MultiplyTiles.h - tile products on tensor cores ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply numbers with 11-bit significands (tf32). A float32 is the sum of two such
// numbers up to 2^-22, so three products are nearly as exact as one in float32 (3xTF32). Tensor
// cores truncate sums where float32 rounds. They therefore only sum within a tile, and tiles are
// added by ordinary additions. With less precision there is a single product.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H
#define BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H

#include "bppsa/Support/TensorPrecision.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// The rounded part of a factor that a thread holds: the leading bits of each element, and the next
/// bits. Two bf16 elements share a register.
struct RoundedFragment {
  llvm::SmallVector<mlir::Value, 4> high, low;
};

/// Emits products of tiles on the elements of one thread (FragmentLayout.h).
class TileMultiplication {
public:
  TileMultiplication(mlir::Location loc, TensorPrecision precision)
      : loc(loc), precision(precision) {}

  TensorPrecision getPrecision() const { return precision; }
  size_t getElementsOfRegister() const { return isBF16() ? 2 : 1; }
  /// Rounds the elements of one register and adds them to `fragment`.
  void addRounded(mlir::OpBuilder &builder, RoundedFragment &fragment,
                  mlir::ValueRange elements) const;
  /// Returns the entries of `sums + a b`.
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

//===- MultiplyTiles.h - tile products on tensor cores ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Tensor cores multiply tf32 numbers (11-bit significands). A float32 is the sum of two up to
// 2^-22, so three products are nearly exact (3xTF32). Tensor cores truncate sums, so ordinary
// additions add tiles.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H
#define BPPSA_LIB_CONVERSION_BGPUTOGPU_MULTIPLYTILES_H

#include "bppsa/Support/TensorPrecision.h"
#include "mlir/IR/Builders.h"

namespace bppsa {

/// Leading and next bits of each element. Two bf16 elements share a register.
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

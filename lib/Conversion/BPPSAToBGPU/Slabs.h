//===- Slabs.h - parts of all steps of all samples --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The T * B rows of sequences are cut into slabs, which kernels sum one by one. The
// order of additions depends on nothing but T and B.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_SLABS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_SLABS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Rows [first, last) of a sequence `[T, B, N]`, row t * B + b.
struct Slab {
  mlir::Value first, last;
};

/// The slabs of sequences `[T, B, N]`.
class Slabs {
public:
  Slabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence, int64_t length);

  /// Rows of a slab for results of `elements` elements.
  static int64_t getLength(int64_t elements);

  mlir::Value getNumSlabs() const { return numSlabs; }
  mlir::Type getElementType() const { return element; }
  Slab getSlab(mlir::OpBuilder &builder, mlir::Value number) const;
  /// `sequence` as rows `[T * B, N]`, where they are known to lie one behind the other: `load` has
  /// no step and sample of these to find by divisions. Otherwise `sequence` itself.
  mlir::Value flatten(mlir::OpBuilder &builder, mlir::Value sequence) const;
  /// An element of a sequence, or of what `flatten` has made of one.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Value sequence, mlir::Value row,
                   mlir::Value column) const;
  mlir::Value getZero(mlir::OpBuilder &builder) const;

private:
  mlir::Location loc;
  mlir::Type element;
  int64_t length;
  mlir::Value numSamples, numRows, numSlabs;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_SLABS_H

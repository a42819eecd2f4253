//===- Slabs.h - slabs of sequence rows -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The T * B rows of a sequence are summed in slabs. The order of additions depends only on T and B.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_SLABS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_SLABS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Rows [first, last) of `[T, B, N]`; row t * B + b is step t of sample b.
struct Slab {
  mlir::Value first, last;
};

class Slabs {
public:
  Slabs(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence, int64_t length);

  static int64_t getLength(int64_t elements);

  mlir::Value getNumSlabs() const { return numSlabs; }
  mlir::Type getElementType() const { return element; }
  Slab getSlab(mlir::OpBuilder &builder, mlir::Value number) const;
  /// Collapses a contiguous sequence to `[T * B, N]`, so that `load` needs no divisions.
  mlir::Value flatten(mlir::OpBuilder &builder, mlir::Value sequence) const;
  /// `sequence` may be a result of `flatten`.
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

//===- ArrayStack.h - arrays as parts of a larger one -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H

#include "../../../Codegen/GPU/Launch.h"

namespace bppsa {

/// Arrays that are read and written as one, as if they lay behind each other along a dimension.
/// Nothing is copied: threads choose the array that has the position they want.
class ArrayStack {
public:
  ArrayStack() = default;
  /// Arrays of float32, one at least, that differ in nothing but their size in dimension `dim` and
  /// where their vectors begin. Those sizes are static where there are several arrays.
  ArrayStack(mlir::ValueRange arrays, int64_t dim);

  int64_t getRank() const { return type.getRank(); }
  /// The size of the whole, which may be dynamic.
  int64_t getDimSize(int64_t at) const { return at == dim ? size : type.getDimSize(at); }
  mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, int64_t at) const;
  /// As bppsa::getAlignedElements, for every vector of the whole.
  int64_t getAlignedElements(int64_t most) const;

  /// The array that has `position` in the stacked dimension, and what is its position there.
  struct Place {
    mlir::Value array, position;
  };
  Place find(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position) const;

private:
  llvm::SmallVector<mlir::Value> arrays;
  int64_t dim = 0, size = 0;
  /// A type that all arrays can be cast to.
  mlir::MemRefType type;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H

//===- ArrayStack.h - stacked arrays ----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H

#include "../../../Codegen/GPU/Launch.h"

namespace bppsa {

/// Arrays accessed as one array, as if concatenated along a dimension. Nothing is copied: threads
/// select the array that contains a position.
class ArrayStack {
public:
  ArrayStack() = default;
  /// `arrays` is not empty. The arrays hold float32 and differ only in their size along `dim` and
  /// in their alignment. With several arrays, these sizes are static.
  ArrayStack(mlir::ValueRange arrays, int64_t dim);

  int64_t getRank() const { return type.getRank(); }
  /// Returns the size of the whole stack, which may be dynamic.
  int64_t getDimSize(int64_t at) const { return at == dim ? size : type.getDimSize(at); }
  mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, int64_t at) const;
  /// Like bppsa::getAlignedElements, for all vectors of the stack.
  int64_t getAlignedElements(int64_t most) const;

  /// An array of the stack, and a position within it along the stacked dimension.
  struct Place {
    mlir::Value array, position;
  };
  Place find(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position) const;

private:
  llvm::SmallVector<mlir::Value> arrays;
  int64_t dim = 0, size = 0;
  mlir::MemRefType type;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H

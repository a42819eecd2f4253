//===- ArrayStack.h - stacked arrays ----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_ARRAYSTACK_H

#include "../../../Codegen/GPU/Launch.h"

namespace bppsa {

/// Arrays accessed as if concatenated along a dimension, without copies.
class ArrayStack {
public:
  ArrayStack() = default;
  /// The arrays are float32 and differ only in their size along `dim`, static if there are several,
  /// and in alignment.
  ArrayStack(mlir::ValueRange arrays, int64_t dim);

  int64_t getRank() const { return type.getRank(); }
  /// Returns the size of the whole stack, which may be dynamic.
  int64_t getDimSize(int64_t at) const { return at == dim ? size : type.getDimSize(at); }
  mlir::Value getDim(mlir::OpBuilder &builder, mlir::Location loc, int64_t at) const;
  int64_t getAlignedElements(int64_t most) const;

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

//===- SampleLayout.h - where arrays have their samples ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_SAMPLELAYOUT_H
#define BPPSA_SUPPORT_SAMPLELAYOUT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// `value`, a tensor `[B, N]`, as `[N, B]`, or the other way round.
inline mlir::Value transposeSamples(mlir::OpBuilder &builder, mlir::Location loc,
                                    mlir::Value value) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  llvm::SmallVector<mlir::OpFoldResult> sizes = mlir::tensor::getMixedSizes(builder, loc, value);
  std::swap(sizes[0], sizes[1]);
  mlir::Value empty = mlir::tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return mlir::linalg::TransposeOp::create(builder, loc, value, empty,
                                           llvm::ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_SAMPLELAYOUT_H

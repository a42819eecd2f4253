//===- SampleLayout.h - layouts of samples in tensors -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_SAMPLELAYOUT_H
#define BPPSA_SUPPORT_SAMPLELAYOUT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Transposes `[B, N]` to `[N, B]`, or back.
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

/// Collapses `[B, ...]` to `[B, N]`.
inline mlir::Value flattenSamples(mlir::OpBuilder &builder, mlir::Value value) {
  int64_t rank = mlir::cast<mlir::RankedTensorType>(value.getType()).getRank();
  if (rank == 2)
    return value;
  llvm::SmallVector<mlir::ReassociationIndices> groups = {
      {0}, llvm::to_vector(llvm::seq<int64_t>(1, rank))};
  return mlir::tensor::CollapseShapeOp::create(builder, value.getLoc(), value, groups);
}

/// Expands `[B, N]` to `[B, ...]`, static but for the first dimension.
inline mlir::Value unflattenSamples(mlir::OpBuilder &builder, mlir::Value value,
                                    mlir::RankedTensorType type) {
  if (type.getRank() == 2)
    return value;
  llvm::SmallVector<mlir::ReassociationIndices> groups = {
      {0}, llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()))};
  llvm::SmallVector<mlir::OpFoldResult> sizes = {
      mlir::tensor::getMixedSize(builder, value.getLoc(), value, 0)};
  for (int64_t size : type.getShape().drop_front())
    sizes.push_back(builder.getIndexAttr(size));
  return mlir::tensor::ExpandShapeOp::create(builder, value.getLoc(), type, value, groups, sizes);
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_SAMPLELAYOUT_H

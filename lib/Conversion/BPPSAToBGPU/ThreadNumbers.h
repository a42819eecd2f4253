//===- ThreadNumbers.h - elements of tiles of vectors -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_THREADNUMBERS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_THREADNUMBERS_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {

/// Packs scalars of a thread into an element of a tile of vectors.
inline mlir::Value packScalars(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::ValueRange numbers) {
  auto type = mlir::VectorType::get(numbers.size(), numbers[0].getType());
  return mlir::vector::FromElementsOp::create(builder, loc, type, numbers);
}

/// Packs groups of `size` scalars.
inline llvm::SmallVector<mlir::Value> packScalars(mlir::OpBuilder &builder, mlir::Location loc,
                                                  mlir::ValueRange numbers, size_t size) {
  llvm::SmallVector<mlir::Value> vectors;
  for (; !numbers.empty(); numbers = numbers.drop_front(size))
    vectors.push_back(packScalars(builder, loc, numbers.take_front(size)));
  return vectors;
}

/// Unpacks all elements of `vectors`.
inline llvm::SmallVector<mlir::Value> unpackScalars(mlir::OpBuilder &builder, mlir::Location loc,
                                                    mlir::ValueRange vectors) {
  llvm::SmallVector<mlir::Value> numbers;
  for (mlir::Value vector : vectors)
    for (int64_t i = 0, e = llvm::cast<mlir::VectorType>(vector.getType()).getNumElements(); i < e;
         ++i)
      numbers.push_back(mlir::vector::ExtractOp::create(builder, loc, vector, i));
  return numbers;
}

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_THREADNUMBERS_H

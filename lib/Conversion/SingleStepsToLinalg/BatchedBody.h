//===- BatchedBody.h - batched bodies ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Rewrites the body of a time loop to batches: vector<N> becomes [B, N] if it depends on the
// sample.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H
#define BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

bool isBatchable(mlir::Block &body);

/// `type` may add static sizes.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

class BatchedBody {
public:
  BatchedBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult batch)
      : builder(builder), loc(loc), batch(batch) {}

  /// `tensor` has the same shape, or a leading batch dimension.
  void map(mlir::Value argument, mlir::Value tensor) { values[argument] = tensor; }

  /// Returns the yielded values, `[B, N]`.
  llvm::SmallVector<mlir::Value> convert(mlir::Block &body);

private:
  bool isBatched(mlir::Value value) const;
  mlir::Value convert(mlir::Operation *op);
  mlir::Value convertConstant(mlir::Operation *op);
  mlir::Value convertMatVec(mlir::Operation *op);
  mlir::Value convertExtractSlice(mlir::Operation *op);
  mlir::Value convertInsertSlice(mlir::Operation *op);
  mlir::Value convertElementwise(mlir::Operation *op);
  /// `batched` adds a leading batch dimension. `compute` gets elements of `operands`, which are
  /// body values.
  mlir::Value
  createGeneric(mlir::ShapedType type, bool batched, mlir::ValueRange operands,
                llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> compute);
  mlir::Value makeBatched(mlir::Value value);
  llvm::SmallVector<mlir::OpFoldResult> getSizes(mlir::ShapedType type, bool batched);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::OpFoldResult batch;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H

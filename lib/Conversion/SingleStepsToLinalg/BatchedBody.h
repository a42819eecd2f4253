//===- BatchedBody.h - batched bodies ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Rewrites the body of a time loop, which processes one sample, to tensors for a batch of B
// samples. A vector<N> that depends on the sample becomes a tensor [B, N]; values shared by all
// samples keep their shape.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H
#define BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Returns true if all operations of `body` can be rewritten.
bool isBatchable(mlir::Block &body);

/// Casts `value` to `type`, which may add static sizes.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

/// Rewrites one body, which must satisfy `isBatchable`, at the insertion point of a builder.
class BatchedBody {
public:
  BatchedBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult batch)
      : builder(builder), loc(loc), batch(batch) {}

  /// Sets the tensor of a body argument: the same shape, or with a leading batch dimension.
  void map(mlir::Value argument, mlir::Value tensor) { values[argument] = tensor; }

  /// Rewrites the operations of `body`. Returns its yielded values, each `[B, N]`.
  llvm::SmallVector<mlir::Value> convert(mlir::Block &body);

private:
  bool isBatched(mlir::Value value) const;
  mlir::Value convert(mlir::Operation *op);
  mlir::Value convertConstant(mlir::Operation *op);
  mlir::Value convertMatVec(mlir::Operation *op);
  mlir::Value convertExtractSlice(mlir::Operation *op);
  mlir::Value convertInsertSlice(mlir::Operation *op);
  mlir::Value convertElementwise(mlir::Operation *op);
  /// Creates a tensor of the shape of `type`, with a leading batch dimension if `batched`.
  /// `compute` computes an element from the elements of `operands`, which are values of the body.
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

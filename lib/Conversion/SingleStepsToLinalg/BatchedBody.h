//===- BatchedBody.h - bodies of one sample on whole batches ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The body of a time loop is about one sample. Here it is written on tensors
// for a batch of B samples: a vector<N> that depends on the sample becomes a
// tensor [B, N]; what is the same for every sample keeps its shape.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H
#define BPPSA_LIB_CONVERSION_SINGLESTEPSTOLINALG_BATCHEDBODY_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Whether every op of `body` can be written on tensors.
bool isBatchable(mlir::Block &body);

/// The tensor `value` with its static sizes declared as in `type`.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

/// Writes one body, for which `isBatchable` holds, at the insertion
/// point of a builder.
class BatchedBody {
public:
  BatchedBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult batch)
      : builder(builder), loc(loc), batch(batch) {}

  /// Gives the value of a body argument: a tensor of its shape, or with a
  /// leading batch dimension.
  void map(mlir::Value argument, mlir::Value tensor) { values[argument] = tensor; }

  /// Writes the ops of `body`; returns what it yields, each `[B, N]`.
  llvm::SmallVector<mlir::Value> convert(mlir::Block &body);

private:
  bool isBatched(mlir::Value value) const;
  mlir::Value convert(mlir::Operation *op);
  mlir::Value convertConstant(mlir::Operation *op);
  mlir::Value convertMatVec(mlir::Operation *op);
  mlir::Value convertExtractSlice(mlir::Operation *op);
  mlir::Value convertInsertSlice(mlir::Operation *op);
  mlir::Value convertElementwise(mlir::Operation *op);
  /// A tensor of the shape of `type`, with the batch in front if `batched`,
  /// computed by `compute` from elements of `operands` (values of the body).
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

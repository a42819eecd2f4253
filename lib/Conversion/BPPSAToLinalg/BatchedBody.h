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

#ifndef BPPSA_LIB_CONVERSION_BPPSATOLINALG_BATCHEDBODY_H
#define BPPSA_LIB_CONVERSION_BPPSATOLINALG_BATCHEDBODY_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Emits an error on the first op of `body` that cannot be written on tensors.
llvm::LogicalResult checkBatchable(mlir::Block &body);

/// `1 / (1 + exp(-x))` of a scalar.
mlir::Value createScalarSigmoid(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// The tensor `value` with its static sizes declared as in `type`.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

/// A tensor of `sizes` filled with zero.
mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type elementType);

/// Writes one body, for which `checkBatchable` has succeeded, at the insertion
/// point of a builder.
class BatchedBody {
public:
  /// How ops are written.
  enum class Form {
    /// In upstream dialects alone.
    Upstream,
    /// As the importer writes graphs: sums of products start from zero, sigmoids stay.
    Graph
  };

  BatchedBody(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult batch,
              Form form = Form::Upstream)
      : builder(builder), loc(loc), batch(batch), form(form) {}

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
  Form form;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOLINALG_BATCHEDBODY_H

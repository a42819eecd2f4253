//===- TensorBuilders.h - builders of small tensor graphs -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H
#define BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Returns an uninitialized tensor with the shape of `like` and elements of `type` (by default the
/// element type of `like`).
mlir::Value createEmptyLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                            mlir::Type type = {});

/// Returns a tensor of the given sizes filled with `value`, a float or an integer.
mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::TypedAttr value);

mlir::Value createZerosLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like);

/// Returns whether `value` is known to be zero everywhere.
bool isZeros(mlir::Value value);

/// Returns `value` with zeros where `mask`, an i1 array of the same shape, is false.
mlir::Value createMasked(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::DenseElementsAttr mask);

mlir::Value createAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                      mlir::Value rhs);

/// Returns the two operands of a sum built by `createAdd`.
std::optional<std::pair<mlir::Value, mlir::Value>> matchAdd(mlir::Value value);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H

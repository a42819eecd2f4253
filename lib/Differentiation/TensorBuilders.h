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

mlir::Value createEmptyLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                            mlir::Type type = {});

mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::TypedAttr value);

mlir::Value createZerosLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like);

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

//===- TensorBuilders.h - small graphs on tensors --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H
#define BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// An uninitialised tensor of the shape of `like`, with elements of `type`
/// (those of `like` by default).
mlir::Value createEmptyLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                            mlir::Type type = {});

/// A tensor of the given sizes filled with `value`, a float or an integer.
mlir::Value createFilled(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::TypedAttr value);

/// Zeros with the shape and type of `like`.
mlir::Value createZerosLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like);

/// Whether `value` is known to be zero everywhere.
bool isZeros(mlir::Value value);

/// `value` where `mask`, an array of i1 of its shape, is true, else zero.
mlir::Value createMasked(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::DenseElementsAttr mask);

/// `lhs + rhs`, elementwise.
mlir::Value createAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                      mlir::Value rhs);

/// The two terms of a sum that `createAdd` built.
std::optional<std::pair<mlir::Value, mlir::Value>> matchAdd(mlir::Value value);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TENSORBUILDERS_H

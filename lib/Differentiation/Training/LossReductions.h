//===- LossReductions.h - sums over the positions of a loss -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Builds the new accumulator from the values of the inputs and the old one.
using BodyBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// A reduction of `inputs` over the dimensions from `firstReduced` of an iteration space of `rank`
/// dimensions. An input of lower rank is the same along the last dimensions, and each of `ofLast`,
/// which come after the inputs, has the last dimension only. The accumulator starts as `init`.
mlir::Value createReduction(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                            int64_t rank, int64_t firstReduced, mlir::TypedAttr init,
                            BodyBuilder body, mlir::ValueRange ofLast = {});

/// The mean of `term` over all positions, as `tensor<f32>`: weighted by `weight`, of the shape of
/// the first input, where it is not null. `term` gets the elements of `inputs`, which share a
/// shape. See `createQuotient` for `mayLackWeight`.
mlir::Value createMean(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                       mlir::Value weight, BodyBuilder term, bool mayLackWeight = false);

/// The sum of the products of the elements of two tensors of one shape, as `tensor<f32>`.
mlir::Value createSumOfProducts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                                mlir::Value rhs);

/// The sum of `term` over all positions, accumulated in f64, divided by the sum of `weight`, as
/// `tensor<f32>`. `term` gets the elements of `inputs`, which share the shape of `weight`. With
/// `mayLackWeight` the quotient is zero where the sum of `weight` is.
mlir::Value createQuotient(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                           mlir::Value weight, BodyBuilder term, bool mayLackWeight);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

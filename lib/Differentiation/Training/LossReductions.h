//===- LossReductions.h - reductions over loss positions --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Builds the new accumulator from the values of the inputs and the old accumulator.
using BodyBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Builds a reduction of `inputs` over the dimensions from `firstReduced` on, in an iteration space
/// of `rank` dimensions. Inputs of lower rank are broadcast along the trailing dimensions. The
/// inputs `ofLast`, which follow `inputs` in the body, have the last dimension only. The
/// accumulator is initialized to `init`.
mlir::Value createReduction(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                            int64_t rank, int64_t firstReduced, mlir::TypedAttr init,
                            BodyBuilder body, mlir::ValueRange ofLast = {});

/// Builds the mean of `term` over all positions, a `tensor<f32>`. `weight`, if not null, weights
/// the positions and has the shape of the first input. `term` receives the elements of `inputs`,
/// which share a shape. See `createQuotient` for `mayLackWeight`.
mlir::Value createMean(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                       mlir::Value weight, BodyBuilder term, bool mayLackWeight = false);

/// Builds the sum of the elementwise products of two tensors of the same shape, a `tensor<f32>`.
mlir::Value createSumOfProducts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                                mlir::Value rhs);

/// Builds the sum of `term` over all positions, accumulated in f64, divided by the sum of `weight`,
/// a `tensor<f32>`. `term` receives the elements of `inputs`, which share the shape of `weight`.
/// With `mayLackWeight`, the quotient is zero if the sum of `weight` is zero.
mlir::Value createQuotient(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                           mlir::Value weight, BodyBuilder term, bool mayLackWeight);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

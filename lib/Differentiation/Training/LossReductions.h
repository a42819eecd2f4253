//===- LossReductions.h - reductions over loss positions --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

#include "mlir/IR/Builders.h"

namespace bppsa {

using BodyBuilder =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// Reduces `inputs` over the dimensions from `firstReduced` on. Inputs of lower rank are broadcast;
/// the inputs `ofLast` have the last dimension only.
mlir::Value createReduction(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                            int64_t rank, int64_t firstReduced, mlir::TypedAttr init,
                            BodyBuilder body, mlir::ValueRange ofLast = {});

/// Builds the mean of `term` over all positions, a `tensor<f32>`. See `createQuotient` for `weight`
/// and `mayLackWeight`.
mlir::Value createMean(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                       mlir::Value weight, BodyBuilder term, bool mayLackWeight = false);

/// Builds the sum of the elementwise products of two tensors of the same shape, a `tensor<f32>`.
mlir::Value createSumOfProducts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                                mlir::Value rhs);

/// Builds the sum of `term` over all positions, accumulated in f64, divided by the sum of `weight`;
/// zero if `mayLackWeight` and the weights sum to zero.
mlir::Value createQuotient(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                           mlir::Value weight, BodyBuilder term, bool mayLackWeight);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSREDUCTIONS_H

//===- Losses.h - losses as graphs on tensors ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H

#include "bppsa/Program/Losses.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

using program::LossKind;

/// Which loss, and how it counts classes.
struct LossOptions {
  LossKind kind = LossKind::CrossEntropy;
  /// The share of each target that is spread over all classes; cross entropy only.
  double labelSmoothing = 0;
  /// A weight for each class; empty for ones.
  llvm::SmallVector<float> classWeights;
  /// All positions may have the weight zero; the loss is zero then.
  bool mayLackWeight = false;
};

/// Builds the loss, a `tensor<f32>`: the mean over all positions of `output`, whose last axis holds
/// the classes where the loss has them, weighted by `weight` where that is not null: f32, of the
/// shape of the target. `LossKind::VJP` takes the sum of output times target, a vector-Jacobian
/// product as a gradient, and no weight. `LossKind::None` takes the only element of `output`, no
/// target and no weight. Weights of classes and smoothing need a weight.
mlir::Value createLoss(mlir::OpBuilder &builder, mlir::Location loc, const LossOptions &options,
                       mlir::Value output, mlir::Value target, mlir::Value weight);

/// The same for cross entropy and nll.
mlir::Value createClassLoss(mlir::OpBuilder &builder, mlir::Location loc,
                            const LossOptions &options, mlir::Value output, mlir::Value target,
                            mlir::Value weight);

/// Builds the number of positions, a `tensor<f64>`, at which the first class with the largest
/// output is that of the target: the sum of their weights where `weight` is not null.
mlir::Value createCorrectCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value output,
                               mlir::Value target, mlir::Value weight);

/// Builds the sum, a `tensor<f32>`, of `losses`, each times its factor.
mlir::Value createLossSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange losses,
                          llvm::ArrayRef<double> factors);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H

//===- Losses.h - losses as tensor graphs -----------------------*- C++ -*-===//
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

struct LossOptions {
  LossKind kind = LossKind::CrossEntropy;
  /// The share of each target that is spread over all classes.
  double labelSmoothing = 0;
  /// One weight per class; empty if all weights are one.
  llvm::SmallVector<float> classWeights;
  /// The weights may sum to zero; the loss is then zero.
  bool mayLackWeight = false;
};

/// Builds the loss, a `tensor<f32>`: the mean over all positions of `output`, whose last axis holds
/// the classes. `weight`, if not null, weights the positions. `LossKind::VJP` is the sum of output
/// times target; `LossKind::None` returns the only element of `output`. Class weights and label
/// smoothing require `weight`.
mlir::Value createLoss(mlir::OpBuilder &builder, mlir::Location loc, const LossOptions &options,
                       mlir::Value output, mlir::Value target, mlir::Value weight);

mlir::Value createClassLoss(mlir::OpBuilder &builder, mlir::Location loc,
                            const LossOptions &options, mlir::Value output, mlir::Value target,
                            mlir::Value weight);

/// Builds the number (or the sum of `weight`) of the positions at which the first class with the
/// largest output is the target, a `tensor<f64>`.
mlir::Value createCorrectCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value output,
                               mlir::Value target, mlir::Value weight);

mlir::Value createLossSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange losses,
                          llvm::ArrayRef<double> factors);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H

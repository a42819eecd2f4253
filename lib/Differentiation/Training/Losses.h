//===- Losses.h - losses as graphs on tensors ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

enum class LossKind { CrossEntropy, NLL, MSE, L1, Huber, BCEWithLogits, None };

/// The loss of that name on the command line; nothing if there is none.
std::optional<LossKind> parseLossKind(llvm::StringRef name);

/// Whether the target holds classes.
bool hasClasses(LossKind kind);

/// Builds the loss, a `tensor<f32>`: the mean over all positions of `output`,
/// whose last axis holds the classes where the loss has them. `LossKind::None`
/// takes the only element of `output` and no target.
mlir::Value createLoss(mlir::OpBuilder &builder, mlir::Location loc, LossKind kind,
                       mlir::Value output, mlir::Value target);

/// Builds the number, a `tensor<i64>`, of positions at which the first class
/// with the largest output is that of the target.
mlir::Value createCorrectCount(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value output,
                               mlir::Value target);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_LOSSES_H

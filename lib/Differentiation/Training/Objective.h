//===- Objective.h - the differentiated objective ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Returns whether `function` has one block and its first result is a differentiable loss, a
/// tensor<f32>.
bool hasLoss(mlir::func::FuncOp function);

void appendResult(mlir::func::FuncOp function, mlir::Value value, mlir::NamedAttribute attribute);

/// Appends `objective`, which is differentiated in place of the first result.
void appendObjective(mlir::func::FuncOp function, mlir::Value objective);

/// Cotangents exchanged between ranks require that all samples have equal weight.
mlir::Value createRankWeighted(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value loss);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H

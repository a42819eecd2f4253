//===- Objective.h - what is differentiated in place of a loss --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Whether `function` has one block and a first result that can be differentiated: a tensor<f32>.
bool hasLoss(mlir::func::FuncOp function);

/// Adds `value` to the results of `function`, which has one block; `attribute` says what it is.
void appendResult(mlir::func::FuncOp function, mlir::Value value, mlir::NamedAttribute attribute);

/// The same of what is differentiated in place of the first result.
void appendObjective(mlir::func::FuncOp function, mlir::Value objective);

/// Builds `loss` times what the samples of this rank count: in cotangents that meet those of other
/// ranks all samples have to count alike.
mlir::Value createRankWeighted(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value loss);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_OBJECTIVE_H

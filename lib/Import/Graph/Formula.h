//===- Formula.h - formulas of scalars and vectors --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A formula that is valid in one branch is evaluated at a harmless point in the other, because a
// zero cotangent times an infinite slope is NaN.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_FORMULA_H
#define BPPSA_LIB_IMPORT_GRAPH_FORMULA_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace bppsa {

/// Builds the ops of one formula on values of `type`: f32, or a vector of f32.
struct Formula {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;

  mlir::Value constant(double value) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value div(mlir::Value x, mlir::Value y) const;
  /// Divides finite values by a nonzero divisor, so the derivative needs no guards.
  mlir::Value divFinite(mlir::Value x, mlir::Value y) const;
  mlir::Value max(mlir::Value x, double y) const;
  mlir::Value min(mlir::Value x, double y) const;
  mlir::Value abs(mlir::Value x) const;
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, double y) const;
  mlir::Value isPositive(mlir::Value x) const;
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const;

  mlir::Value elu(mlir::Value x, double alpha) const;
  mlir::Value celu(mlir::Value x, double alpha) const;
  mlir::Value hardSigmoid(mlir::Value x, double alpha, double beta) const;
  mlir::Value leakyRelu(mlir::Value x, double alpha) const;
  mlir::Value thresholdedRelu(mlir::Value x, double alpha) const;
  mlir::Value softplus(mlir::Value x) const;
  mlir::Value softsign(mlir::Value x) const;
  mlir::Value tanh(mlir::Value x) const;
  mlir::Value sigmoid(mlir::Value x) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_FORMULA_H

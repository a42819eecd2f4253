//===- Formula.h - formulas of scalars and vectors --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A formula that is valid in one branch only is evaluated at a harmless point in the other branch.
// Otherwise a zero cotangent times an infinite slope would be NaN.
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
  /// Divides numbers that are never infinite by a divisor that is never zero, so the derivative
  /// needs no guards.
  mlir::Value divFinite(mlir::Value x, mlir::Value y) const;
  mlir::Value max(mlir::Value x, double y) const;
  mlir::Value min(mlir::Value x, double y) const;
  mlir::Value abs(mlir::Value x) const;
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, double y) const;
  mlir::Value isPositive(mlir::Value x) const;
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const;

  /// x if x > 0, else alpha (e^x - 1).
  mlir::Value elu(mlir::Value x, double alpha) const;
  /// x if x > 0, else alpha (e^(x / alpha) - 1).
  mlir::Value celu(mlir::Value x, double alpha) const;
  /// alpha x + beta, clamped to [0, 1].
  mlir::Value hardSigmoid(mlir::Value x, double alpha, double beta) const;
  /// x if x > 0, else alpha x.
  mlir::Value leakyRelu(mlir::Value x, double alpha) const;
  /// x if x > alpha, else zero.
  mlir::Value thresholdedRelu(mlir::Value x, double alpha) const;
  /// log(1 + e^x).
  mlir::Value softplus(mlir::Value x) const;
  /// x / (1 + |x|).
  mlir::Value softsign(mlir::Value x) const;
  mlir::Value tanh(mlir::Value x) const;
  mlir::Value sigmoid(mlir::Value x) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_FORMULA_H

//===- AffineEvaluation.h - evaluates affine expressions --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_AFFINEEVALUATION_H
#define BPPSA_SUPPORT_AFFINEEVALUATION_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/MathExtras.h"

namespace bppsa {

/// Evaluates `expr` without symbols. Creates no expressions, so it is cheap in loops over many
/// points.
inline int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> point) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return point[dim.getPosition()];
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), point), rhs = evaluate(binary.getRHS(), point);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return lhs + rhs;
  case mlir::AffineExprKind::Mul:
    return lhs * rhs;
  case mlir::AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  case mlir::AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  default:
    return llvm::divideCeilSigned(lhs, rhs);
  }
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_AFFINEEVALUATION_H

//===- ShapeExpressions.h - sizes as expressions of symbols -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Sizes and elements of small integer tensors are affine expressions of symbolic dimensions, each
// at least 1 or its entry in `minSizes`. Expressions are canonical, so equal ones have the same
// pointer.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H
#define BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace bppsa {

/// An expression, or nullopt if it overflows, has too many terms or cannot be expressed.
using MaybeExpr = std::optional<mlir::AffineExpr>;

std::optional<int64_t> getConstant(mlir::AffineExpr expr);

MaybeExpr addExprs(mlir::AffineExpr a, mlir::AffineExpr b);
MaybeExpr subtractExprs(mlir::AffineExpr a, mlir::AffineExpr b);
MaybeExpr multiplyExprs(mlir::AffineExpr a, mlir::AffineExpr b);

/// Returns the quotient if `b` divides `a` for all values of the symbols.
MaybeExpr divideExactly(mlir::AffineExpr a, mlir::AffineExpr b);

/// Division of ONNX integers, which rounds towards zero. Returns nullopt for operands of unknown
/// sign.
MaybeExpr divideExprs(mlir::AffineExpr a, mlir::AffineExpr b,
                      llvm::ArrayRef<int64_t> minSizes = {});
MaybeExpr remainderExprs(mlir::AffineExpr a, mlir::AffineExpr b,
                         llvm::ArrayRef<int64_t> minSizes = {});

MaybeExpr multiplyAll(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::MLIRContext *context);

std::optional<int64_t> getLowerBound(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> minSizes = {});

bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b, llvm::ArrayRef<int64_t> minSizes = {});

struct SymbolMinimum {
  unsigned symbol;
  int64_t value;
};

/// Returns the smallest value of the only symbol in a - b that makes a >= b hold.
std::optional<SymbolMinimum> solveAtLeast(mlir::AffineExpr a, mlir::AffineExpr b);

/// A symbol and its replacement that make two sizes equal.
struct SymbolBinding {
  unsigned symbol;
  mlir::AffineExpr value;
};

/// Returns the replacement of a symbol by an earlier symbol or a positive constant that makes a ==
/// b.
std::optional<SymbolBinding> solveEquality(mlir::AffineExpr a, mlir::AffineExpr b);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H

//===- ShapeExpressions.h - sizes as expressions of symbols -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Sizes and the elements of small integer tensors are affine expressions of
// the symbolic dimensions of the graph inputs. Every symbol is at least 1, or
// what `minSizes` says for its position.
// Expressions made here are canonical sums of products, so that equal ones are
// the same pointer.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H
#define BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace bppsa {

/// An expression, or nothing: the result overflows, has too many terms, or has
/// no expression (a minimum of sizes that cannot be compared, say).
using MaybeExpr = std::optional<mlir::AffineExpr>;

/// The value of `expr` if it is a constant.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);

MaybeExpr addExprs(mlir::AffineExpr a, mlir::AffineExpr b);
MaybeExpr subtractExprs(mlir::AffineExpr a, mlir::AffineExpr b);
MaybeExpr multiplyExprs(mlir::AffineExpr a, mlir::AffineExpr b);

/// The quotient if `b` divides `a` for all values of the symbols.
MaybeExpr divideExactly(mlir::AffineExpr a, mlir::AffineExpr b);

/// Division and remainder of ONNX integers, which round towards zero; operands
/// of unknown sign have none.
MaybeExpr divideExprs(mlir::AffineExpr a, mlir::AffineExpr b,
                      llvm::ArrayRef<int64_t> minSizes = {});
MaybeExpr remainderExprs(mlir::AffineExpr a, mlir::AffineExpr b,
                         llvm::ArrayRef<int64_t> minSizes = {});

/// The product of `sizes`.
MaybeExpr multiplyAll(llvm::ArrayRef<mlir::AffineExpr> sizes, mlir::MLIRContext *context);

/// The least value that `expr` takes, as far as it can be proven.
std::optional<int64_t> getLowerBound(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> minSizes = {});

/// Whether a >= b for all values of the symbols; false if that is not known.
bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b, llvm::ArrayRef<int64_t> minSizes = {});

/// The least value of a symbol.
struct SymbolMinimum {
  unsigned symbol;
  int64_t value;
};

/// The least value of the only symbol in a - b for which a >= b. Nothing if there
/// is none, or more symbols.
std::optional<SymbolMinimum> solveAtLeast(mlir::AffineExpr a, mlir::AffineExpr b);

/// What makes two sizes equal: the symbol and what it stands for.
struct SymbolBinding {
  unsigned symbol;
  mlir::AffineExpr value;
};

/// The binding under which a == b holds: a symbol is replaced by an earlier
/// symbol or by a positive constant. Nothing if there is none.
std::optional<SymbolBinding> solveEquality(mlir::AffineExpr a, mlir::AffineExpr b);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_SHAPEEXPRESSIONS_H

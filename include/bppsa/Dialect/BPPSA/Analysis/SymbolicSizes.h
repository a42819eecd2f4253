//===- SymbolicSizes.h - sizes as affine expressions -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_SYMBOLICSIZES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_SYMBOLICSIZES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

/// Writes index values as affine expressions, to see that two of them are
/// equal whatever the shapes at run time. Symbols are those of the module (see
/// the argument attribute `bppsa.shape`); a value that is not understood is a
/// dimension of its own.
class SymbolicSizes {
public:
  mlir::AffineExpr get(mlir::OpFoldResult value, mlir::MLIRContext *context);

  /// The size of dimension `dim` of `tensor`.
  mlir::AffineExpr getSize(mlir::Value tensor, int64_t dim);

  /// Whether `lhs` and `rhs` are known to be equal.
  bool areEqual(mlir::AffineExpr lhs, mlir::AffineExpr rhs) const;
  bool areEqual(mlir::OpFoldResult lhs, mlir::OpFoldResult rhs, mlir::MLIRContext *context);

private:
  mlir::AffineExpr getOpaque(mlir::Value value, int64_t dim);
  mlir::AffineExpr getReified(mlir::OpResult tensor, int64_t dim);

  /// The unknowns by value, and by tensor and dimension; -1 for the value itself.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> unknowns;
};

/// Whether `op` reads nothing of an array but a size of a known dimension.
bool readsSizeOnly(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SYMBOLICSIZES_H

//===- SymbolicSizes.h - sizes as affine expressions ------------*- C++ -*-===//
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

/// Converts index values to affine expressions over the symbols of the module (`bppsa.shape`) to
/// prove sizes equal. Unknown values become dimensions.
class SymbolicSizes {
public:
  mlir::AffineExpr get(mlir::OpFoldResult value, mlir::MLIRContext *context);

  mlir::AffineExpr getSize(mlir::Value tensor, int64_t dim);

  bool areEqual(mlir::AffineExpr lhs, mlir::AffineExpr rhs) const;
  bool areEqual(mlir::OpFoldResult lhs, mlir::OpFoldResult rhs, mlir::MLIRContext *context);

private:
  mlir::AffineExpr getOpaque(mlir::Value value, int64_t dim);
  mlir::AffineExpr getReified(mlir::OpResult tensor, int64_t dim);

  /// Keyed by tensor and dimension; index values have dimension -1.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> unknowns;
};

/// True if `op` reads a size of an array in a constant dimension.
bool readsSizeOnly(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SYMBOLICSIZES_H

//===- Reductions.h - reductions of linalg ops ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// The combination of the iterations that contribute to one result element.
enum class ReductionKind { None, Sum, Extremum, Product };

/// A reduction and the contribution of one iteration.
struct Reduction {
  ReductionKind kind;
  mlir::Value contribution;

  /// Returns whether the cotangent of every contribution equals the cotangent of the result.
  bool isLinear() const { return kind == ReductionKind::None || kind == ReductionKind::Sum; }

  /// Creates the inputs of `createCotangent`, with the indexing map of the result.
  llvm::SmallVector<mlir::Value> createSeeds(mlir::linalg::LinalgOp op, mlir::Value resultCotangent,
                                             mlir::OpBuilder &builder) const;
  /// Creates the cotangent of `contribution`. Elements equal to an extremum share its cotangent.
  mlir::Value createCotangent(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value contribution, mlir::ValueRange seeds) const;
};

mlir::FailureOr<Reduction> matchReduction(mlir::linalg::LinalgOp op);

enum class Combine { Replace, Add, Multiply };

/// Terminates `body` and removes dead ops and inputs that neither the body nor the iteration space
/// needs.
void finishBody(mlir::Block &body, mlir::Value value, Combine combine, mlir::OpBuilder &builder,
                llvm::SmallVectorImpl<mlir::Value> &inputs,
                llvm::SmallVectorImpl<mlir::AffineMap> &maps);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

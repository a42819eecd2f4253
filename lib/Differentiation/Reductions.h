//===- Reductions.h - reductions of linalg ops ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// How a linalg op combines the iterations that contribute to the same result element.
enum class ReductionKind { None, Sum, Extremum, Product };

/// A reduction, and the value that one iteration contributes. Without a reduction the contribution
/// is the result element.
struct Reduction {
  ReductionKind kind;
  mlir::Value contribution;

  /// Returns whether the cotangent of every contribution equals the cotangent of the result.
  bool isLinear() const { return kind == ReductionKind::None || kind == ReductionKind::Sum; }

  /// Creates the tensors from which `createCotangent` computes the cotangent of a contribution. All
  /// have the indexing map of the result.
  llvm::SmallVector<mlir::Value> createSeeds(mlir::linalg::LinalgOp op, mlir::Value resultCotangent,
                                             mlir::OpBuilder &builder) const;
  /// Creates the cotangent of `contribution` from the elements of the seeds. Contributions equal to
  /// an extremum share its cotangent equally.
  mlir::Value createCotangent(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value contribution, mlir::ValueRange seeds) const;
};

/// Emits an error if the reduction has no rule.
mlir::FailureOr<Reduction> matchReduction(mlir::linalg::LinalgOp op);

/// How a body combines its value with the accumulator.
enum class Combine { Replace, Add, Multiply };

/// Terminates `body` and removes dead ops and inputs that neither the body nor the iteration space
/// needs.
void finishBody(mlir::Block &body, mlir::Value value, Combine combine, mlir::OpBuilder &builder,
                llvm::SmallVectorImpl<mlir::Value> &inputs,
                llvm::SmallVectorImpl<mlir::AffineMap> &maps);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

//===- Reductions.h - how a linalg op joins its iterations ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H
#define BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace bppsa {

/// What the iterations of a linalg op that reach one entry of its result make of it.
enum class ReductionKind { None, Sum, Extremum, Product };

/// A reduction and the value that one iteration contributes to it; that is the whole entry where
/// there is no reduction.
struct Reduction {
  ReductionKind kind;
  mlir::Value contribution;

  /// Whether the cotangent of every contribution is that of the result.
  bool isLinear() const { return kind == ReductionKind::None || kind == ReductionKind::Sum; }

  /// The tensors, each with the indexing map of the result, that the cotangent of a contribution
  /// is made of.
  llvm::SmallVector<mlir::Value> createSeeds(mlir::linalg::LinalgOp op, mlir::Value resultCotangent,
                                             mlir::OpBuilder &builder) const;
  /// The cotangent of `contribution` from the entries of the seeds. That of an extremum is shared
  /// equally by the contributions that are equal to it.
  mlir::Value createCotangent(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value contribution, mlir::ValueRange seeds) const;
};

/// Fails, after an error, where the reduction has no rule.
mlir::FailureOr<Reduction> matchReduction(mlir::linalg::LinalgOp op);

/// What a body makes of its value and the accumulator.
enum class Combine { Replace, Add, Multiply };

/// Ends `body` and removes what it does not need: dead ops, and inputs that
/// neither the body nor the iteration space needs.
void finishBody(mlir::Block &body, mlir::Value value, Combine combine, mlir::OpBuilder &builder,
                llvm::SmallVectorImpl<mlir::Value> &inputs,
                llvm::SmallVectorImpl<mlir::AffineMap> &maps);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_REDUCTIONS_H

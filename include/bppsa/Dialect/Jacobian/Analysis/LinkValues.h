//===- LinkValues.h - the entries of transposed Jacobians -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Values of the possible nonzeros of transposed Jacobians (positions: JacobianStructure.h).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// Values of the entries, row by row.
struct LinkValues {
  enum class Kind {
    /// The operation moves or adds elements.
    Ones,
    /// Diagonal: the VJP of the operation with a cotangent of ones.
    Slopes,
    /// Entry e is `factor[sources[e]]`.
    Shared,
    /// Entry e is one if `choice` is `sources[e]` at element `columns[e]` of the sample, else zero.
    Choice
  };

  Kind kind = Kind::Ones;
  /// Used by `Shared` and `Choice`.
  mlir::Value factor, choice;
  std::vector<int32_t> sources, columns;

  /// Returns the entries of the given rows of `pattern`; negative rows are empty.
  LinkValues selectRows(const SparsityPattern &pattern, llvm::ArrayRef<int32_t> rows) const;
};

/// Like `findLinkValues`, but finds only the kind.
std::optional<LinkValues::Kind> findLinkKind(mlir::OpResult result, mlir::Value operand,
                                             jacobian::MatrixType type, const SampleAxes &axes,
                                             std::string &why);

/// `type` is the result of `inferJacobian` for the same arguments. Returns nullopt and sets `why`
/// if unknown.
std::optional<LinkValues> findLinkValues(mlir::OpResult result, mlir::Value operand,
                                         jacobian::MatrixType type, const SampleAxes &axes,
                                         std::string &why);

/// Returns the mask `bppsa.nonzeros` of the argument `factor`, or null.
mlir::DenseElementsAttr getNonzeros(mlir::Value factor);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

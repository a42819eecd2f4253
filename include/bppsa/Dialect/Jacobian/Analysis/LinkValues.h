//===- LinkValues.h - the entries of transposed Jacobians -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What the possible nonzeros of the transposed Jacobian of an operation are: the
// numeric side of JacobianStructure.h.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// The entries of a transposed Jacobian, row by row.
struct LinkValues {
  enum class Kind {
    /// Every entry is one: elements are moved or added.
    Ones,
    /// A diagonal: what the derivative of the operation makes of a cotangent of ones.
    Slopes,
    /// Entry e is element `sources[e]` of `factor`.
    Shared,
    /// Entry e is one where `choice` holds `sources[e]` at element `columns[e]` of the
    /// sample, and zero elsewhere.
    Choice
  };

  Kind kind = Kind::Ones;
  /// Of the kinds `Shared` and `Choice`.
  mlir::Value factor, choice;
  std::vector<int32_t> sources, columns;

  /// The entries of the rows `rows` of a matrix with the pattern `pattern` and these entries, in
  /// the new order; negative rows are empty.
  LinkValues selectRows(const SparsityPattern &pattern, llvm::ArrayRef<int32_t> rows) const;
};

/// What the entries are that `findLinkValues` finds, without making them.
std::optional<LinkValues::Kind> findLinkKind(mlir::OpResult result, mlir::Value operand,
                                             jacobian::MatrixType type, const SampleAxes &axes,
                                             std::string &why);

/// The entries of the Jacobian of type `type` that `inferJacobian` found for these
/// operands. None, with the reason in `why`, where they are not known.
std::optional<LinkValues> findLinkValues(mlir::OpResult result, mlir::Value operand,
                                         jacobian::MatrixType type, const SampleAxes &axes,
                                         std::string &why);

/// Which elements of `factor`, a parameter of a function, may differ from zero: the
/// attribute `bppsa.nonzeros` of its argument. Null without one.
mlir::DenseElementsAttr getNonzeros(mlir::Value factor);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

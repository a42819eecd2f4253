//===- LinkValues.h - the entries of transposed Jacobians -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The values of the possible nonzeros of transposed Jacobians. JacobianStructure.h has their
// positions.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H
#define BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

namespace bppsa {

/// The values of the entries of a transposed Jacobian, row by row.
struct LinkValues {
  enum class Kind {
    /// Every entry is one: the operation moves or adds elements.
    Ones,
    /// The Jacobian is diagonal. Its entries are the VJP of the operation applied to a cotangent of
    /// ones.
    Slopes,
    /// Entry e is element `sources[e]` of `factor`.
    Shared,
    /// Entry e is one if `choice` has the value `sources[e]` at element `columns[e]` of the sample,
    /// else zero.
    Choice
  };

  Kind kind = Kind::Ones;
  /// Used by `Shared` and `Choice`.
  mlir::Value factor, choice;
  std::vector<int32_t> sources, columns;

  /// Returns the entries of the given rows in the given order. `pattern` is the pattern of the
  /// whole matrix. Negative rows are empty.
  LinkValues selectRows(const SparsityPattern &pattern, llvm::ArrayRef<int32_t> rows) const;
};

/// Like `findLinkValues`, but determines only the kind of the entries.
std::optional<LinkValues::Kind> findLinkKind(mlir::OpResult result, mlir::Value operand,
                                             jacobian::MatrixType type, const SampleAxes &axes,
                                             std::string &why);

/// Returns the entries of the Jacobian of type `type` that `inferJacobian` returned for the same
/// arguments. Returns nullopt and sets `why` if they are not known.
std::optional<LinkValues> findLinkValues(mlir::OpResult result, mlir::Value operand,
                                         jacobian::MatrixType type, const SampleAxes &axes,
                                         std::string &why);

/// Returns the attribute `bppsa.nonzeros` of the function argument `factor`: a mask of the elements
/// that may be nonzero. Null if the argument has no such attribute.
mlir::DenseElementsAttr getNonzeros(mlir::Value factor);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_ANALYSIS_LINKVALUES_H

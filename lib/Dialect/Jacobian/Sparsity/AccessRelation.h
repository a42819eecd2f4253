//===- AccessRelation.h - what sets of loops decide of a pattern *- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_JACOBIAN_SPARSITY_ACCESSRELATION_H
#define BPPSA_LIB_DIALECT_JACOBIAN_SPARSITY_ACCESSRELATION_H

#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include <vector>

namespace bppsa {

/// One index of an array, without the sample dimension: its expression in the loop indices, its
/// size and its row-major stride.
struct ArrayCoordinate {
  mlir::AffineExpr expr;
  int64_t size;
  int64_t stride;
};

/// Returns the coordinates of one sample of `access`, or nullopt if the array is too large.
std::optional<llvm::SmallVector<ArrayCoordinate>>
getCoordinates(const LoopNest &nest, const ArrayAccess &access, int64_t &numElements);

/// The part of a pattern that one set of loops determines: for each combination of `rows`, the
/// offsets that `cols` adds to the column.
struct AccessRelation {
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<ArrayCoordinate> rows, cols;
  /// The class of each combination of `rows`, and the offsets of each class.
  SparsityPattern offsets;
};

/// Partitions the loops into sets that share no array index, and returns the coordinates of each
/// set. Constant indices form a set without loops.
std::vector<AccessRelation> splitLoops(const LoopNest &nest, llvm::ArrayRef<ArrayCoordinate> rows,
                                       llvm::ArrayRef<ArrayCoordinate> cols);

/// Computes the positions of the entries of a relation.
struct AccessRelationIndex {
  explicit AccessRelationIndex(const AccessRelation &relation);
  /// Returns the index of the combination of rows at `point`, or nullopt if it is out of bounds.
  std::optional<int64_t> getRow(llvm::ArrayRef<int64_t> point) const;
  /// Returns the offset that `point` adds to the column of the pattern, or nullopt if it is out of
  /// bounds.
  std::optional<int64_t> getCol(llvm::ArrayRef<int64_t> point) const;

  const AccessRelation &relation;
  int64_t numRows = 1;
  llvm::SmallVector<int64_t> rowWeights, colWeights;
};

/// Advances `point` along `loops` within `extents`, the last loop fastest. Returns false after the
/// last point.
bool advancePoint(llvm::MutableArrayRef<int64_t> point, llvm::ArrayRef<unsigned> loops,
                  llvm::ArrayRef<int64_t> extents);

/// Returns the combination of the rows of `relation` for row `row` of the whole pattern.
int64_t getLocalRow(const AccessRelation &relation, int64_t row);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_SPARSITY_ACCESSRELATION_H

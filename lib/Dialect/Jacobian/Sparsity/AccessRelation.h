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

/// One index of one sample of an array: how it follows from the loops, its
/// size and the distance of neighbours in row-major order.
struct ArrayCoordinate {
  mlir::AffineExpr expr;
  int64_t size;
  int64_t stride;
};

/// The coordinates of one sample of `access`. None where the array is too big.
std::optional<llvm::SmallVector<ArrayCoordinate>>
getCoordinates(const LoopNest &nest, const ArrayAccess &access, int64_t &numElements);

/// The part of a pattern that one set of loops decides: for each combination of
/// `rows` the offsets that `cols` add to the column.
struct AccessRelation {
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<ArrayCoordinate> rows, cols;
  /// The class of each combination of `rows`, and the offsets of each class.
  SparsityPattern offsets;
};

/// The sets of loops that meet in an index of an array, with their coordinates.
/// Constant indices form a set without loops.
std::vector<AccessRelation> splitLoops(const LoopNest &nest, llvm::ArrayRef<ArrayCoordinate> rows,
                                       llvm::ArrayRef<ArrayCoordinate> cols);

/// The places of a relation's entries.
struct AccessRelationIndex {
  explicit AccessRelationIndex(const AccessRelation &relation);
  /// The combination of the rows at a point; none where one leaves its array.
  std::optional<int64_t> getRow(llvm::ArrayRef<int64_t> point) const;
  /// What the columns add to the column of the pattern.
  std::optional<int64_t> getCol(llvm::ArrayRef<int64_t> point) const;

  const AccessRelation &relation;
  int64_t numRows = 1;
  llvm::SmallVector<int64_t> rowWeights, colWeights;
};

/// Steps `point` over the box of `extents` along `loops`, the last one fastest.
bool advancePoint(llvm::MutableArrayRef<int64_t> point, llvm::ArrayRef<unsigned> loops,
                  llvm::ArrayRef<int64_t> extents);

/// The combination of the rows of `relation` at row number `row` of the whole
/// pattern.
int64_t getLocalRow(const AccessRelation &relation, int64_t row);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_SPARSITY_ACCESSRELATION_H

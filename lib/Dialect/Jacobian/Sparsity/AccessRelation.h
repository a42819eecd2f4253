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

/// Expression, size and row-major stride of an array index. The sample dimension has none.
struct ArrayCoordinate {
  mlir::AffineExpr expr;
  int64_t size;
  int64_t stride;
};

/// Returns the coordinates of one sample; nullopt if the array is too large.
std::optional<llvm::SmallVector<ArrayCoordinate>>
getCoordinates(const LoopNest &nest, const ArrayAccess &access, int64_t &numElements);

/// The part of a pattern that one set of loops determines.
struct AccessRelation {
  llvm::SmallVector<unsigned> loops;
  llvm::SmallVector<ArrayCoordinate> rows, cols;
  /// Class of each combination of `rows`, and the offsets that `cols` adds to the column.
  SparsityPattern offsets;
};

/// Partitions loops into sets that share no array index. Constant indices form a set without loops.
std::vector<AccessRelation> splitLoops(const LoopNest &nest, llvm::ArrayRef<ArrayCoordinate> rows,
                                       llvm::ArrayRef<ArrayCoordinate> cols);

struct AccessRelationIndex {
  explicit AccessRelationIndex(const AccessRelation &relation);
  /// Returns nullopt if out of bounds.
  std::optional<int64_t> getRow(llvm::ArrayRef<int64_t> point) const;
  /// Returns the column offset of `point`, or nullopt if out of bounds.
  std::optional<int64_t> getCol(llvm::ArrayRef<int64_t> point) const;

  const AccessRelation &relation;
  int64_t numRows = 1;
  llvm::SmallVector<int64_t> rowWeights, colWeights;
};

/// Advances the last loop fastest. Returns false after the last point.
bool advancePoint(llvm::MutableArrayRef<int64_t> point, llvm::ArrayRef<unsigned> loops,
                  llvm::ArrayRef<int64_t> extents);

int64_t getLocalRow(const AccessRelation &relation, int64_t row);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_JACOBIAN_SPARSITY_ACCESSRELATION_H

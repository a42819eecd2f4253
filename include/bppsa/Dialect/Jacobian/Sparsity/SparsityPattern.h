//===- SparsityPattern.h - zero patterns known at compile time --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Where a matrix may be nonzero, in compressed sparse rows. Entries are
// numbered in row order, ascending columns within a row; the value of entry e
// of a matrix is element e of its array of values.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_SPARSITYPATTERN_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_SPARSITYPATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace bppsa {

/// The pattern of a matrix with `rows` x `cols` elements, each dimension below
/// 2^31. Rows with the same columns are stored once, as one class: the
/// transposed Jacobian of a convolution has as many classes as positions, a
/// dense matrix has one. Two patterns are equal exactly where they have the
/// same entries.
class SparsityPattern {
public:
  SparsityPattern() = default;
  static SparsityPattern getZero(int64_t rows, int64_t cols);
  static SparsityPattern getDense(int64_t rows, int64_t cols);
  /// The pattern of an identity, and of any diagonal matrix.
  static SparsityPattern getIdentity(int64_t size);
  /// Row i has the one entry `columns[i]`, or none where that is negative.
  static SparsityPattern getSelection(llvm::ArrayRef<int32_t> columns, int64_t cols);
  /// The Kronecker product: `inner` at every entry of `outer`.
  static SparsityPattern getKronecker(const SparsityPattern &outer, const SparsityPattern &inner);
  /// The same block `count` times along the diagonal.
  static SparsityPattern getBlockDiagonal(const SparsityPattern &block, int64_t count);
  /// A grid of blocks, row by row with `width` blocks in each. Blocks beside each
  /// other have as many rows, blocks above each other as many columns.
  static SparsityPattern getGrid(llvm::ArrayRef<SparsityPattern> blocks, int64_t width);
  /// The pattern with the given (row, column) pairs, in any order, also
  /// repeated.
  static SparsityPattern fromEntries(int64_t rows, int64_t cols,
                                     llvm::ArrayRef<std::pair<int32_t, int32_t>> entries);
  /// The pattern of the row-major matrix `values`, where zeros are no entries.
  static SparsityPattern fromDense(int64_t rows, int64_t cols, llvm::ArrayRef<float> values);

  int64_t getNumRows() const { return rowClasses.size(); }
  int64_t getNumCols() const { return numCols; }
  int64_t getNumEntries() const { return rowStarts.empty() ? 0 : rowStarts.back(); }
  /// The columns of a row, ascending.
  llvm::ArrayRef<int32_t> getRow(int64_t row) const { return getClass(rowClasses[row]); }
  /// The number of the first entry of `row`; of the end where `row` is the
  /// number of rows.
  int64_t getRowStart(int64_t row) const { return rowStarts.empty() ? 0 : rowStarts[row]; }
  bool contains(int64_t row, int32_t col) const;

  /// Distinct rows.
  int64_t getNumClasses() const { return int64_t(classStarts.size()) - 1; }
  llvm::ArrayRef<int32_t> getClass(int32_t index) const {
    return llvm::ArrayRef(columns).slice(classStarts[index],
                                         classStarts[index + 1] - classStarts[index]);
  }
  int32_t getRowClass(int64_t row) const { return rowClasses[row]; }
  llvm::ArrayRef<int32_t> getRowClasses() const { return rowClasses; }

  /// The fraction of elements that are entries; 0 for a matrix without
  /// elements.
  double getDensity() const;
  /// The fraction of guaranteed zeros.
  double getZeroFraction() const { return 1 - getDensity(); }
  bool isZero() const { return getNumEntries() == 0; }
  bool isDense() const { return getNumEntries() == getNumRows() * getNumCols(); }
  /// Whether the matrix is square with exactly the diagonal as entries.
  bool isIdentity() const;
  /// The number of entries of each row.
  std::vector<int64_t> countRows() const;
  /// The number of entries of each column.
  std::vector<int64_t> countColumns() const;
  /// The memory that this object holds.
  int64_t getNumBytes() const;

  SparsityPattern transpose() const;
  /// The entries of either matrix; both have the same shape.
  SparsityPattern unite(const SparsityPattern &other) const;
  /// Row i of the result is row `rows[i]`, and empty where that is negative.
  SparsityPattern selectRows(llvm::ArrayRef<int32_t> rows) const;
  /// Column i of the result is column `cols[i]`; no column is named twice.
  SparsityPattern selectCols(llvm::ArrayRef<int32_t> cols) const;
  /// Keeps the entries whose number `keep` accepts. Entries are asked for in
  /// order.
  SparsityPattern prune(llvm::function_ref<bool(int64_t)> keep) const;

  bool operator==(const SparsityPattern &other) const {
    return numCols == other.numCols && rowClasses == other.rowClasses &&
           classStarts == other.classStarts && columns == other.columns;
  }
  bool operator!=(const SparsityPattern &other) const { return !(*this == other); }

  friend llvm::hash_code hash_value(const SparsityPattern &pattern);

private:
  friend class PatternBuilder;

  int64_t numCols = 0;
  /// The class of each row; classes are numbered by first appearance.
  std::vector<int32_t> rowClasses;
  /// The entries before each row, and all entries.
  std::vector<int64_t> rowStarts = {0};
  /// The place of each class in `columns`, and the end.
  std::vector<int64_t> classStarts = {0};
  std::vector<int32_t> columns;
};

/// Builds a pattern row by row.
class PatternBuilder {
public:
  /// `rows` is how many rows to reserve.
  PatternBuilder(int64_t rows, int64_t cols);
  /// Appends a row with the given ascending columns; returns its class.
  int32_t addRow(llvm::ArrayRef<int32_t> cols);
  /// Appends one more row of a class that `addRow` returned.
  void addRowOfClass(int32_t index);
  /// The pattern; the builder is then used up.
  SparsityPattern take();

private:
  SparsityPattern pattern;
  /// The last class with a hash, and for each class the one before it with the
  /// same hash.
  llvm::DenseMap<uint64_t, int32_t> lastOfHash;
  std::vector<int32_t> previousOfHash;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SPARSITYPATTERN_H

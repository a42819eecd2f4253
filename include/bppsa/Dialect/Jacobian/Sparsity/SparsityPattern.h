//===- SparsityPattern.h - compile-time sparsity patterns -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The possible nonzeros of a matrix, in compressed sparse rows. Entries are numbered by row, then
// by ascending column. The value of entry e is element e of the value array of the matrix.
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

/// The pattern of a `rows` x `cols` matrix; each dimension is below 2^31. Equal rows are stored
/// once, as a class: the transposed Jacobian of a convolution has one class per image position, and
/// a dense matrix has a single class. Patterns compare equal if and only if they have the same
/// entries.
class SparsityPattern {
public:
  SparsityPattern() = default;
  static SparsityPattern getZero(int64_t rows, int64_t cols);
  static SparsityPattern getDense(int64_t rows, int64_t cols);
  /// Returns the pattern of an identity or any other diagonal matrix.
  static SparsityPattern getIdentity(int64_t size);
  /// Row i has the single entry `columns[i]`, or no entry if that is negative.
  static SparsityPattern getSelection(llvm::ArrayRef<int32_t> columns, int64_t cols);
  /// Returns the Kronecker product, with `inner` at every entry of `outer`.
  static SparsityPattern getKronecker(const SparsityPattern &outer, const SparsityPattern &inner);
  /// Repeats `block` `count` times along the diagonal.
  static SparsityPattern getBlockDiagonal(const SparsityPattern &block, int64_t count);
  /// Returns a grid of blocks, row by row with `width` blocks in each. Blocks in the same grid row
  /// have equally many rows; blocks in the same grid column have equally many columns.
  static SparsityPattern getGrid(llvm::ArrayRef<SparsityPattern> blocks, int64_t width);
  /// Returns the pattern with the given (row, column) pairs. Their order does not matter, and
  /// duplicates are allowed.
  static SparsityPattern fromEntries(int64_t rows, int64_t cols,
                                     llvm::ArrayRef<std::pair<int32_t, int32_t>> entries);
  /// Returns the pattern of the nonzeros of the row-major matrix `values`.
  static SparsityPattern fromDense(int64_t rows, int64_t cols, llvm::ArrayRef<float> values);

  int64_t getNumRows() const { return rowClasses.size(); }
  int64_t getNumCols() const { return numCols; }
  int64_t getNumEntries() const { return rowStarts.empty() ? 0 : rowStarts.back(); }
  /// Returns the columns of a row in ascending order.
  llvm::ArrayRef<int32_t> getRow(int64_t row) const { return getClass(rowClasses[row]); }
  /// Returns the index of the first entry of `row`, or the number of entries if `row` is the number
  /// of rows.
  int64_t getRowStart(int64_t row) const { return rowStarts.empty() ? 0 : rowStarts[row]; }
  bool contains(int64_t row, int32_t col) const;

  /// Returns the number of distinct rows.
  int64_t getNumClasses() const { return int64_t(classStarts.size()) - 1; }
  llvm::ArrayRef<int32_t> getClass(int32_t index) const {
    return llvm::ArrayRef(columns).slice(classStarts[index],
                                         classStarts[index + 1] - classStarts[index]);
  }
  int32_t getRowClass(int64_t row) const { return rowClasses[row]; }
  llvm::ArrayRef<int32_t> getRowClasses() const { return rowClasses; }

  /// Returns the fraction of elements that are entries; 0 for an empty matrix.
  double getDensity() const;
  double getZeroFraction() const { return 1 - getDensity(); }
  bool isZero() const { return getNumEntries() == 0; }
  bool isDense() const { return getNumEntries() == getNumRows() * getNumCols(); }
  /// Returns true if the matrix is square and its entries are exactly the diagonal.
  bool isIdentity() const;
  /// Returns the number of entries in each row.
  std::vector<int64_t> countRows() const;
  /// Returns the number of entries in each column.
  std::vector<int64_t> countColumns() const;
  int64_t getNumBytes() const;

  SparsityPattern transpose() const;
  /// Returns the union of the entries of two matrices of the same shape.
  SparsityPattern unite(const SparsityPattern &other) const;
  /// Row i of the result is row `rows[i]`, or empty if that is negative.
  SparsityPattern selectRows(llvm::ArrayRef<int32_t> rows) const;
  /// Column i of the result is column `cols[i]`. The columns must be distinct.
  SparsityPattern selectCols(llvm::ArrayRef<int32_t> cols) const;
  /// Keeps the entries whose index satisfies `keep`, which is called in order.
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
  /// The class of each row, numbered by first appearance.
  std::vector<int32_t> rowClasses;
  /// The index of the first entry of each row, followed by the number of entries.
  std::vector<int64_t> rowStarts = {0};
  /// The offset of each class in `columns`, followed by the end.
  std::vector<int64_t> classStarts = {0};
  std::vector<int32_t> columns;
};

class PatternBuilder {
public:
  /// `rows` is a capacity hint.
  PatternBuilder(int64_t rows, int64_t cols);
  /// Appends a row with the given ascending columns and returns its class.
  int32_t addRow(llvm::ArrayRef<int32_t> cols);
  /// Appends another row of a class that `addRow` returned.
  void addRowOfClass(int32_t index);
  /// Returns the pattern. The builder must not be used afterwards.
  SparsityPattern take();

private:
  SparsityPattern pattern;
  /// The last class with each hash, and for each class the previous one with the same hash.
  llvm::DenseMap<uint64_t, int32_t> lastOfHash;
  std::vector<int32_t> previousOfHash;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SPARSITYPATTERN_H

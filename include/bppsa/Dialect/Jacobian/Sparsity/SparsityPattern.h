//===- SparsityPattern.h - compile-time sparsity patterns -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Possible nonzeros in compressed sparse rows. Entry e (by row, then ascending column) is element e
// of the value array.
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

/// Pattern of a matrix with dimensions below 2^31. Equal rows are stored once, as a class: a dense
/// matrix has one, a convolution one per image position.
class SparsityPattern {
public:
  SparsityPattern() = default;
  static SparsityPattern getZero(int64_t rows, int64_t cols);
  static SparsityPattern getDense(int64_t rows, int64_t cols);
  /// Returns the pattern of any diagonal matrix.
  static SparsityPattern getIdentity(int64_t size);
  /// Row i has the entry `columns[i]`, or none if negative.
  static SparsityPattern getSelection(llvm::ArrayRef<int32_t> columns, int64_t cols);
  /// Places `inner` at every entry of `outer`.
  static SparsityPattern getKronecker(const SparsityPattern &outer, const SparsityPattern &inner);
  static SparsityPattern getBlockDiagonal(const SparsityPattern &block, int64_t count);
  /// Blocks are row by row, `width` in each. Sizes must match along grid rows and columns.
  static SparsityPattern getGrid(llvm::ArrayRef<SparsityPattern> blocks, int64_t width);
  /// Entries are (row, column) pairs in any order, possibly with duplicates.
  static SparsityPattern fromEntries(int64_t rows, int64_t cols,
                                     llvm::ArrayRef<std::pair<int32_t, int32_t>> entries);
  static SparsityPattern fromDense(int64_t rows, int64_t cols, llvm::ArrayRef<float> values);

  int64_t getNumRows() const { return rowClasses.size(); }
  int64_t getNumCols() const { return numCols; }
  int64_t getNumEntries() const { return rowStarts.empty() ? 0 : rowStarts.back(); }
  /// Columns are in ascending order.
  llvm::ArrayRef<int32_t> getRow(int64_t row) const { return getClass(rowClasses[row]); }
  /// Returns the number of entries if `row` is past the last row.
  int64_t getRowStart(int64_t row) const { return rowStarts.empty() ? 0 : rowStarts[row]; }
  bool contains(int64_t row, int32_t col) const;

  int64_t getNumClasses() const { return int64_t(classStarts.size()) - 1; }
  llvm::ArrayRef<int32_t> getClass(int32_t index) const {
    return llvm::ArrayRef(columns).slice(classStarts[index],
                                         classStarts[index + 1] - classStarts[index]);
  }
  int32_t getRowClass(int64_t row) const { return rowClasses[row]; }
  llvm::ArrayRef<int32_t> getRowClasses() const { return rowClasses; }

  /// Returns 0 for an empty matrix.
  double getDensity() const;
  double getZeroFraction() const { return 1 - getDensity(); }
  bool isZero() const { return getNumEntries() == 0; }
  bool isDense() const { return getNumEntries() == getNumRows() * getNumCols(); }
  /// True if the matrix is square and its entries are exactly the diagonal.
  bool isIdentity() const;
  std::vector<int64_t> countRows() const;
  std::vector<int64_t> countColumns() const;
  int64_t getNumBytes() const;

  SparsityPattern transpose() const;
  /// The shapes must be equal.
  SparsityPattern unite(const SparsityPattern &other) const;
  /// Row i is row `rows[i]`, or empty if negative.
  SparsityPattern selectRows(llvm::ArrayRef<int32_t> rows) const;
  /// Column i is column `cols[i]`; columns must be distinct.
  SparsityPattern selectCols(llvm::ArrayRef<int32_t> cols) const;
  /// `keep` is called with entry indices in order.
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
  /// Class of each row, numbered by first appearance.
  std::vector<int32_t> rowClasses;
  /// First entry of each row, then the number of entries.
  std::vector<int64_t> rowStarts = {0};
  /// Offset of each class in `columns`, then the end.
  std::vector<int64_t> classStarts = {0};
  std::vector<int32_t> columns;
};

class PatternBuilder {
public:
  /// `rows` is a capacity hint.
  PatternBuilder(int64_t rows, int64_t cols);
  /// Columns must ascend. Returns the class of the row.
  int32_t addRow(llvm::ArrayRef<int32_t> cols);
  /// Appends another row of a class from `addRow`.
  void addRowOfClass(int32_t index);
  /// The builder must not be used afterwards.
  SparsityPattern take();

private:
  SparsityPattern pattern;
  /// The last class with each hash, and the previous class with the same hash.
  llvm::DenseMap<uint64_t, int32_t> lastOfHash;
  std::vector<int32_t> previousOfHash;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SPARSITYPATTERN_H

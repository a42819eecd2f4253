//===- SymbolicProduct.cpp - products of sparsity patterns ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Rows of the product are unions of rows of the right factor. Unions are cached, since most rows of
// a chain reference the same set as an earlier row.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cassert>
#include <numeric>

using namespace bppsa;
using llvm::ArrayRef;

namespace {
/// Enumerates columns in ascending order.
class ColumnSet {
public:
  explicit ColumnSet(int64_t cols) : words((cols + 63) / 64, 0) {}

  void insert(ArrayRef<int32_t> cols) {
    if (cols.empty())
      return;
    // Columns ascend, so the first and last bound the range of words.
    first = std::min<size_t>(first, cols.front() / 64);
    last = std::max<size_t>(last, cols.back() / 64);
    for (int32_t col : cols)
      words[col / 64] |= uint64_t(1) << (col % 64);
  }

  void insert(ArrayRef<uint64_t> other) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] |= other[i];
    first = 0;
    last = words.size() - 1;
  }

  size_t getNumWords() const { return words.size(); }

  void drainTo(std::vector<int32_t> &result) {
    result.clear();
    for (size_t i = first; i < words.size() && i <= last; ++i) {
      for (uint64_t word = words[i]; word; word &= word - 1)
        result.push_back(i * 64 + llvm::countr_zero(word));
      words[i] = 0;
    }
    first = words.size();
    last = 0;
  }

private:
  std::vector<uint64_t> words;
  size_t first = words.size(), last = 0;
};
} // namespace

int64_t bppsa::countMultiplyAdds(const SparsityPattern &lhs, const SparsityPattern &rhs) {
  assert(lhs.getNumCols() == rhs.getNumRows() && "shapes do not compose");
  int64_t sum = 0;
  for (auto [row, count] : llvm::enumerate(lhs.countColumns()))
    sum += count * int64_t(rhs.getRow(row).size());
  return sum;
}

namespace {
class RowInserter {
public:
  explicit RowInserter(const SparsityPattern &pattern)
      : pattern(pattern), words(pattern.getNumClasses()) {}

  void insert(int32_t rowClass, ColumnSet &set) {
    ArrayRef<int32_t> cols = pattern.getClass(rowClass);
    if (cols.size() < 2 * set.getNumWords())
      return set.insert(cols);
    std::vector<uint64_t> &row = words[rowClass];
    if (row.empty()) {
      row.resize(set.getNumWords(), 0);
      for (int32_t col : cols)
        row[col / 64] |= uint64_t(1) << (col % 64);
    }
    set.insert(ArrayRef<uint64_t>(row));
  }

private:
  const SparsityPattern &pattern;
  /// Bit sets of classes that were inserted by words; empty for others.
  std::vector<std::vector<uint64_t>> words;
};
} // namespace

static SparsityPattern getTouchedClasses(const SparsityPattern &lhs, const SparsityPattern &rhs) {
  PatternBuilder builder(lhs.getNumClasses(), rhs.getNumClasses());
  std::vector<int32_t> lastSeen(rhs.getNumClasses(), -1), touched;
  for (int32_t index = 0; index < lhs.getNumClasses(); ++index) {
    touched.clear();
    for (int32_t inner : lhs.getClass(index)) {
      int32_t rowClass = rhs.getRowClass(inner);
      if (std::exchange(lastSeen[rowClass], index) != index)
        touched.push_back(rowClass);
    }
    llvm::sort(touched);
    builder.addRow(touched);
  }
  return builder.take();
}

SymbolicProduct bppsa::multiply(const SparsityPattern &lhs, const SparsityPattern &rhs) {
  SymbolicProduct result;
  result.multiplyAdds = countMultiplyAdds(lhs, rhs);
  SparsityPattern touched = getTouchedClasses(lhs, rhs);
  PatternBuilder builder(lhs.getNumRows(), rhs.getNumCols());
  ColumnSet set(rhs.getNumCols());
  RowInserter inserter(rhs);
  std::vector<int32_t> classes(touched.getNumClasses(), -1), row;
  for (int32_t lhsClass : lhs.getRowClasses()) {
    int32_t &index = classes[touched.getRowClass(lhsClass)];
    if (index >= 0) {
      builder.addRowOfClass(index);
      continue;
    }
    ArrayRef<int32_t> rows = touched.getRow(lhsClass);
    if (rows.size() == 1) {
      index = builder.addRow(rhs.getClass(rows.front()));
      continue;
    }
    for (int32_t rowClass : rows)
      inserter.insert(rowClass, set);
    set.drainTo(row);
    index = builder.addRow(row);
  }
  result.pattern = builder.take();
  return result;
}

int64_t ProductSchedule::getNumBytes() const {
  return sizeof(int64_t) * starts.size() +
         sizeof(int32_t) * (lhsEntries.size() + rhsEntries.size());
}

std::optional<ProductSchedule> bppsa::scheduleProduct(const SparsityPattern &lhs,
                                                      const SparsityPattern &rhs,
                                                      const SparsityPattern &product,
                                                      int64_t maxPairs) {
  int64_t numPairs = countMultiplyAdds(lhs, rhs);
  if (numPairs > maxPairs || lhs.getNumEntries() > INT32_MAX || rhs.getNumEntries() > INT32_MAX)
    return std::nullopt;
  ProductSchedule schedule;
  schedule.starts.reserve(product.getNumEntries() + 1);
  schedule.starts.push_back(0);
  schedule.lhsEntries.resize(numPairs);
  schedule.rhsEntries.resize(numPairs);
  std::vector<int64_t> next(product.getNumCols(), 0);
  for (int64_t row = 0; row < lhs.getNumRows(); ++row) {
    for (int32_t inner : lhs.getRow(row))
      for (int32_t col : rhs.getRow(inner))
        ++next[col];
    for (int32_t col : product.getRow(row)) {
      int64_t start = schedule.starts.back();
      schedule.starts.push_back(start + std::exchange(next[col], start));
    }
    for (auto [i, inner] : llvm::enumerate(lhs.getRow(row)))
      for (auto [j, col] : llvm::enumerate(rhs.getRow(inner))) {
        int64_t place = next[col]++;
        schedule.lhsEntries[place] = lhs.getRowStart(row) + i;
        schedule.rhsEntries[place] = rhs.getRowStart(inner) + j;
      }
    for (int32_t col : product.getRow(row))
      next[col] = 0;
  }
  return schedule;
}

//===- SparsityPattern.cpp - compile-time sparsity patterns ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cassert>
#include <numeric>

using namespace bppsa;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// PatternBuilder
//===----------------------------------------------------------------------===//

PatternBuilder::PatternBuilder(int64_t rows, int64_t cols) {
  assert(rows <= INT32_MAX && cols <= INT32_MAX && "indices have 32 bits");
  pattern.numCols = cols;
  pattern.rowClasses.reserve(rows);
  pattern.rowStarts.reserve(rows + 1);
}

int32_t PatternBuilder::addRow(ArrayRef<int32_t> cols) {
  uint64_t hash = llvm::hash_combine_range(cols.begin(), cols.end());
  // The shift avoids the two largest keys, which DenseMap reserves.
  auto [last, isNew] = lastOfHash.try_emplace(hash >> 1, -1);
  int32_t index = last->second;
  while (index >= 0 && pattern.getClass(index) != cols)
    index = previousOfHash[index];
  if (index < 0) {
    index = pattern.getNumClasses();
    pattern.columns.insert(pattern.columns.end(), cols.begin(), cols.end());
    pattern.classStarts.push_back(pattern.columns.size());
    previousOfHash.push_back(last->second);
    last->second = index;
  }
  addRowOfClass(index);
  return index;
}

void PatternBuilder::addRowOfClass(int32_t index) {
  pattern.rowClasses.push_back(index);
  pattern.rowStarts.push_back(pattern.rowStarts.back() + int64_t(pattern.getClass(index).size()));
}

SparsityPattern PatternBuilder::take() { return std::move(pattern); }

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

static SparsityPattern repeatRow(int64_t rows, int64_t cols, ArrayRef<int32_t> row) {
  PatternBuilder builder(rows, cols);
  for (int64_t i = 0, index = 0; i < rows; ++i)
    if (i == 0)
      index = builder.addRow(row);
    else
      builder.addRowOfClass(index);
  return builder.take();
}

SparsityPattern SparsityPattern::getZero(int64_t rows, int64_t cols) {
  return repeatRow(rows, cols, {});
}

SparsityPattern SparsityPattern::getDense(int64_t rows, int64_t cols) {
  std::vector<int32_t> all(cols);
  std::iota(all.begin(), all.end(), 0);
  return repeatRow(rows, cols, all);
}

SparsityPattern SparsityPattern::getIdentity(int64_t size) {
  PatternBuilder builder(size, size);
  for (int32_t i = 0; i < size; ++i)
    builder.addRow(i);
  return builder.take();
}

SparsityPattern SparsityPattern::getSelection(ArrayRef<int32_t> columns, int64_t cols) {
  PatternBuilder builder(columns.size(), cols);
  for (int32_t column : columns)
    builder.addRow(column < 0 ? ArrayRef<int32_t>() : ArrayRef(column));
  return builder.take();
}

SparsityPattern SparsityPattern::getKronecker(const SparsityPattern &outer,
                                              const SparsityPattern &inner) {
  int64_t innerClasses = inner.getNumClasses();
  PatternBuilder builder(outer.getNumRows() * inner.getNumRows(),
                         outer.getNumCols() * inner.getNumCols());
  std::vector<int32_t> classes(outer.getNumClasses() * innerClasses, -1), row;
  for (int32_t outerClass : outer.rowClasses)
    for (int32_t innerClass : inner.rowClasses) {
      int32_t &index = classes[outerClass * innerClasses + innerClass];
      if (index >= 0) {
        builder.addRowOfClass(index);
        continue;
      }
      row.clear();
      for (int32_t block : outer.getClass(outerClass))
        for (int32_t col : inner.getClass(innerClass))
          row.push_back(block * inner.getNumCols() + col);
      index = builder.addRow(row);
    }
  return builder.take();
}

SparsityPattern SparsityPattern::getBlockDiagonal(const SparsityPattern &block, int64_t count) {
  return getKronecker(getIdentity(count), block);
}

SparsityPattern SparsityPattern::getGrid(ArrayRef<SparsityPattern> blocks, int64_t width) {
  int64_t rows = 0, cols = 0;
  for (size_t i = 0; i < blocks.size(); i += width)
    rows += blocks[i].getNumRows();
  for (const SparsityPattern &block : blocks.take_front(width))
    cols += block.getNumCols();
  PatternBuilder builder(rows, cols);
  std::vector<int32_t> row;
  for (; !blocks.empty(); blocks = blocks.drop_front(width))
    for (int64_t i = 0; i < blocks.front().getNumRows(); ++i) {
      row.clear();
      int64_t offset = 0;
      for (const SparsityPattern &block : blocks.take_front(width)) {
        for (int32_t col : block.getRow(i))
          row.push_back(offset + col);
        offset += block.getNumCols();
      }
      builder.addRow(row);
    }
  return builder.take();
}

SparsityPattern SparsityPattern::fromEntries(int64_t rows, int64_t cols,
                                             ArrayRef<std::pair<int32_t, int32_t>> entries) {
  std::vector<int64_t> starts(rows + 1, 0);
  for (auto [row, col] : entries)
    ++starts[row + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int32_t> columns(entries.size());
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  for (auto [row, col] : entries)
    columns[next[row]++] = col;
  PatternBuilder builder(rows, cols);
  for (int64_t row = 0; row < rows; ++row) {
    auto begin = columns.begin() + starts[row], end = columns.begin() + starts[row + 1];
    std::sort(begin, end);
    size_t count = std::unique(begin, end) - begin;
    builder.addRow(ArrayRef(columns).slice(starts[row], count));
  }
  return builder.take();
}

SparsityPattern SparsityPattern::fromDense(int64_t rows, int64_t cols, ArrayRef<float> values) {
  PatternBuilder builder(rows, cols);
  std::vector<int32_t> row;
  for (int64_t i = 0; i < rows; ++i) {
    row.clear();
    for (int32_t j = 0; j < cols; ++j)
      if (values[i * cols + j] != 0)
        row.push_back(j);
    builder.addRow(row);
  }
  return builder.take();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

bool SparsityPattern::contains(int64_t row, int32_t col) const {
  return llvm::binary_search(getRow(row), col);
}

double SparsityPattern::getDensity() const {
  double elements = double(getNumRows()) * double(getNumCols());
  return elements == 0 ? 0 : double(getNumEntries()) / elements;
}

bool SparsityPattern::isIdentity() const {
  if (getNumRows() != getNumCols() || getNumEntries() != getNumRows())
    return false;
  for (int64_t i = 0; i < getNumRows(); ++i)
    if (getRow(i) != ArrayRef<int32_t>(int32_t(i)))
      return false;
  return true;
}

static std::vector<int64_t> countClasses(const SparsityPattern &pattern) {
  std::vector<int64_t> counts(pattern.getNumClasses(), 0);
  for (int32_t index : pattern.getRowClasses())
    ++counts[index];
  return counts;
}

std::vector<int64_t> SparsityPattern::countRows() const {
  std::vector<int64_t> counts(getNumRows());
  for (int64_t row = 0; row < getNumRows(); ++row)
    counts[row] = rowStarts[row + 1] - rowStarts[row];
  return counts;
}

std::vector<int64_t> SparsityPattern::countColumns() const {
  std::vector<int64_t> counts(numCols, 0);
  for (auto [index, rows] : llvm::enumerate(countClasses(*this)))
    for (int32_t col : getClass(index))
      counts[col] += rows;
  return counts;
}

int64_t SparsityPattern::getNumBytes() const {
  return sizeof(int32_t) * (rowClasses.size() + columns.size()) +
         sizeof(int64_t) * (rowStarts.size() + classStarts.size());
}

llvm::hash_code bppsa::hash_value(const SparsityPattern &pattern) {
  return llvm::hash_combine(
      pattern.numCols,
      llvm::hash_combine_range(pattern.rowClasses.begin(), pattern.rowClasses.end()),
      llvm::hash_combine_range(pattern.columns.begin(), pattern.columns.end()));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

SparsityPattern SparsityPattern::transpose() const {
  // Columns of the same classes become equal rows, so the class matrix is transposed first.
  std::vector<std::pair<int32_t, int32_t>> entries;
  entries.reserve(columns.size());
  for (int32_t index = 0; index < getNumClasses(); ++index)
    for (int32_t col : getClass(index))
      entries.push_back({col, index});
  SparsityPattern classesOfCols = fromEntries(numCols, getNumClasses(), entries);
  std::vector<std::vector<int32_t>> rowsOfClass(getNumClasses());
  for (auto [row, index] : llvm::enumerate(rowClasses))
    rowsOfClass[index].push_back(row);

  PatternBuilder builder(numCols, getNumRows());
  std::vector<int32_t> indices(classesOfCols.getNumClasses(), -1), row;
  for (int32_t setOfClasses : classesOfCols.rowClasses) {
    int32_t &index = indices[setOfClasses];
    if (index >= 0) {
      builder.addRowOfClass(index);
      continue;
    }
    row.clear();
    for (int32_t one : classesOfCols.getClass(setOfClasses))
      llvm::append_range(row, rowsOfClass[one]);
    llvm::sort(row);
    index = builder.addRow(row);
  }
  return builder.take();
}

SparsityPattern SparsityPattern::unite(const SparsityPattern &other) const {
  assert(getNumRows() == other.getNumRows() && numCols == other.numCols && "shapes differ");
  PatternBuilder builder(getNumRows(), numCols);
  std::vector<int32_t> row;
  for (int64_t i = 0; i < getNumRows(); ++i) {
    row.clear();
    ArrayRef<int32_t> first = getRow(i), second = other.getRow(i);
    std::set_union(first.begin(), first.end(), second.begin(), second.end(),
                   std::back_inserter(row));
    builder.addRow(row);
  }
  return builder.take();
}

SparsityPattern SparsityPattern::selectRows(ArrayRef<int32_t> rows) const {
  PatternBuilder builder(rows.size(), numCols);
  std::vector<int32_t> indices(getNumClasses(), -1);
  for (int32_t row : rows) {
    if (row < 0) {
      builder.addRow({});
      continue;
    }
    int32_t &index = indices[rowClasses[row]];
    if (index < 0)
      index = builder.addRow(getRow(row));
    else
      builder.addRowOfClass(index);
  }
  return builder.take();
}

SparsityPattern SparsityPattern::selectCols(ArrayRef<int32_t> cols) const {
  std::vector<int32_t> places(numCols, -1);
  for (auto [place, col] : llvm::enumerate(cols))
    places[col] = place;
  PatternBuilder builder(getNumRows(), cols.size());
  std::vector<int32_t> indices(getNumClasses(), -1), row;
  for (int32_t rowClass : rowClasses) {
    int32_t &index = indices[rowClass];
    if (index >= 0) {
      builder.addRowOfClass(index);
      continue;
    }
    row.clear();
    for (int32_t col : getClass(rowClass))
      if (places[col] >= 0)
        row.push_back(places[col]);
    llvm::sort(row);
    index = builder.addRow(row);
  }
  return builder.take();
}

SparsityPattern SparsityPattern::prune(llvm::function_ref<bool(int64_t)> keep) const {
  PatternBuilder builder(getNumRows(), numCols);
  std::vector<int32_t> kept;
  for (int64_t row = 0; row < getNumRows(); ++row) {
    kept.clear();
    for (auto [i, col] : llvm::enumerate(getRow(row)))
      if (keep(rowStarts[row] + i))
        kept.push_back(col);
    builder.addRow(kept);
  }
  return builder.take();
}

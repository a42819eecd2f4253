//===- MatrixStructure.cpp - where a matrix is known to be zero -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/MatrixStructure.h"
#include "bppsa/Sparse/SymbolicProduct.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cassert>
#include <numeric>

using namespace bppsa;

using Kind = MatrixStructure::Kind;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

MatrixStructure MatrixStructure::getZero(int64_t rows, int64_t cols) {
  return MatrixStructure(Kind::Zero, rows, cols).withShared(true);
}

MatrixStructure MatrixStructure::getIdentity(int64_t size) {
  return MatrixStructure(Kind::Identity, size, size).withShared(true);
}

MatrixStructure MatrixStructure::getDiagonal(int64_t size) {
  return MatrixStructure(Kind::Diagonal, size, size);
}

MatrixStructure MatrixStructure::getDense(int64_t rows, int64_t cols) {
  return MatrixStructure(Kind::Dense, rows, cols);
}

MatrixStructure MatrixStructure::getSparse(SparsityPattern pattern) {
  int64_t rows = pattern.getNumRows(), cols = pattern.getNumCols();
  if (pattern.isZero())
    return getZero(rows, cols);
  if (pattern.isDense())
    return getDense(rows, cols);
  if (pattern.isIdentity())
    return getDiagonal(rows);
  MatrixStructure result(Kind::Sparse, rows, cols);
  result.pattern = std::make_shared<const SparsityPattern>(std::move(pattern));
  return result;
}

static bool isDiagonal(const MatrixStructure &structure) {
  return structure.getKind() == Kind::Identity || structure.getKind() == Kind::Diagonal;
}

MatrixStructure MatrixStructure::getBlock(int64_t blockRows, int64_t blockCols,
                                          std::vector<MatrixStructure> blocks) {
  assert(int64_t(blocks.size()) == blockRows * blockCols && "a block for each place");
  int64_t rows = 0, cols = 0;
  for (int64_t i = 0; i < blockRows; ++i)
    rows += blocks[i * blockCols].rows;
  for (int64_t j = 0; j < blockCols; ++j)
    cols += blocks[j].cols;
  // A grid that says no more than a simple structure is that structure.
  bool onDiagonal = blockRows == blockCols;
  for (auto [index, block] : llvm::enumerate(blocks)) {
    int64_t i = index / blockCols, j = index % blockCols;
    onDiagonal &= i == j ? isDiagonal(block) : block.kind == Kind::Zero;
  }
  if (onDiagonal)
    return getDiagonal(rows);
  for (Kind kind : {Kind::Zero, Kind::Dense})
    if (llvm::all_of(blocks, [&](const MatrixStructure &block) { return block.kind == kind; }))
      return MatrixStructure(kind, rows, cols).withShared(kind == Kind::Zero);
  MatrixStructure result(Kind::Block, rows, cols);
  result.blockRows = blockRows;
  result.blockCols = blockCols;
  result.blocks = std::make_shared<const std::vector<MatrixStructure>>(std::move(blocks));
  return result;
}

MatrixStructure MatrixStructure::withShared(bool shared) const {
  MatrixStructure result = *this;
  result.shared = shared || kind == Kind::Zero || kind == Kind::Identity;
  return result;
}

std::string MatrixStructure::getName() const {
  std::string prefix = shared ? "shared-" : "";
  switch (kind) {
  case Kind::Zero:
    return "zero";
  case Kind::Identity:
    return "identity";
  case Kind::Diagonal:
    return prefix + "diagonal";
  case Kind::Dense:
    return prefix + "dense";
  case Kind::Sparse:
    return prefix + "csr";
  case Kind::Block:
    return prefix + "block";
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

void MatrixStructure::forEachBlock(
    llvm::function_ref<void(const MatrixStructure &, int64_t, int64_t)> body) const {
  int64_t row = 0;
  for (int64_t i = 0; i < blockRows; ++i) {
    int64_t col = 0;
    for (int64_t j = 0; j < blockCols; ++j) {
      const MatrixStructure &block = (*blocks)[i * blockCols + j];
      body(block, row, col);
      col += block.cols;
    }
    row += (*blocks)[i * blockCols].rows;
  }
}

std::vector<int64_t> MatrixStructure::getRowCounts() const {
  std::vector<int64_t> counts(rows, kind == Kind::Zero || kind == Kind::Block ? 0
                                    : kind == Kind::Dense                     ? cols
                                                                              : 1);
  if (kind == Kind::Sparse)
    for (int64_t row = 0; row < rows; ++row)
      counts[row] = pattern->getRow(row).size();
  if (kind == Kind::Block)
    forEachBlock([&](const MatrixStructure &block, int64_t row, int64_t) {
      for (auto [index, count] : llvm::enumerate(block.getRowCounts()))
        counts[row + index] += count;
    });
  return counts;
}

std::vector<int64_t> MatrixStructure::getColumnCounts() const {
  if (kind == Kind::Sparse)
    return pattern->countColumns();
  std::vector<int64_t> counts(cols, kind == Kind::Zero || kind == Kind::Block ? 0
                                    : kind == Kind::Dense                     ? rows
                                                                              : 1);
  if (kind == Kind::Block)
    forEachBlock([&](const MatrixStructure &block, int64_t, int64_t col) {
      for (auto [index, count] : llvm::enumerate(block.getColumnCounts()))
        counts[col + index] += count;
    });
  return counts;
}

int64_t MatrixStructure::getNumNonzeros() const {
  int64_t number = 0;
  switch (kind) {
  case Kind::Zero:
    return 0;
  case Kind::Identity:
  case Kind::Diagonal:
    return rows;
  case Kind::Dense:
    return rows * cols;
  case Kind::Sparse:
    return pattern->getNumEntries();
  case Kind::Block:
    for (const MatrixStructure &block : *blocks)
      number += block.getNumNonzeros();
    return number;
  }
  return 0;
}

int64_t MatrixStructure::getNumBytes(int64_t elementBytes) const {
  if (kind == Kind::Identity)
    return 0;
  if (kind != Kind::Block)
    return getNumNonzeros() * elementBytes;
  int64_t bytes = 0;
  for (const MatrixStructure &block : *blocks)
    bytes += block.getNumBytes(elementBytes);
  return bytes;
}

int64_t MatrixStructure::getNumIndexBytes() const {
  constexpr int64_t indexBytes = 4;
  if (kind == Kind::Sparse)
    return indexBytes * (getNumNonzeros() + rows + 1);
  int64_t bytes = 0;
  if (kind == Kind::Block)
    for (const MatrixStructure &block : *blocks)
      bytes += block.getNumIndexBytes();
  return bytes;
}

SparsityPattern MatrixStructure::computePattern() const {
  switch (kind) {
  case Kind::Zero:
    return SparsityPattern::getZero(rows, cols);
  case Kind::Identity:
  case Kind::Diagonal:
    return SparsityPattern::getIdentity(rows);
  case Kind::Dense:
    return SparsityPattern::getDense(rows, cols);
  case Kind::Sparse:
    return *pattern;
  case Kind::Block:
    break;
  }
  std::vector<std::pair<int32_t, int32_t>> entries;
  forEachBlock([&](const MatrixStructure &block, int64_t firstRow, int64_t firstCol) {
    SparsityPattern inner = block.computePattern();
    for (int64_t row = 0; row < block.rows; ++row)
      for (int32_t col : inner.getRow(row))
        entries.emplace_back(firstRow + row, firstCol + col);
  });
  return SparsityPattern::fromEntries(rows, cols, entries);
}

int64_t bppsa::countMultiplyAdds(const MatrixStructure &second, const MatrixStructure &first) {
  assert(second.getCols() == first.getRows() && "sizes compose");
  for (const MatrixStructure &operand : {second, first})
    if (operand.getKind() == Kind::Zero || operand.getKind() == Kind::Identity)
      return 0;
  if (second.getKind() == Kind::Dense && first.getKind() == Kind::Dense)
    return second.getRows() * second.getCols() * first.getCols();
  std::vector<int64_t> columns = second.getColumnCounts(), rows = first.getRowCounts();
  return std::inner_product(columns.begin(), columns.end(), rows.begin(), int64_t(0));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The structure of `a + b`.
static MatrixStructure add(const MatrixStructure &a, const MatrixStructure &b) {
  if (a.getKind() == Kind::Zero)
    return b;
  if (b.getKind() == Kind::Zero)
    return a;
  if (isDiagonal(a) && isDiagonal(b))
    return MatrixStructure::getDiagonal(a.getRows());
  if (a.getKind() == Kind::Dense || b.getKind() == Kind::Dense)
    return MatrixStructure::getDense(a.getRows(), a.getCols());
  return MatrixStructure::getSparse(a.computePattern().unite(b.computePattern()));
}

/// The product of the patterns of both.
static MatrixStructure multiplyPatterns(const MatrixStructure &second,
                                        const MatrixStructure &first) {
  return MatrixStructure::getSparse(
      multiply(second.computePattern(), first.computePattern()).pattern);
}

/// A matrix that is no grid, cut into one; `rowSizes` are `colSizes` where it is
/// diagonal.
static std::vector<MatrixStructure> cut(const MatrixStructure &matrix,
                                        const std::vector<int64_t> &rowSizes,
                                        const std::vector<int64_t> &colSizes) {
  std::vector<MatrixStructure> blocks;
  for (auto [i, rows] : llvm::enumerate(rowSizes))
    for (auto [j, cols] : llvm::enumerate(colSizes))
      if (matrix.getKind() == Kind::Dense)
        blocks.push_back(MatrixStructure::getDense(rows, cols));
      else if (isDiagonal(matrix) && i == j)
        blocks.push_back(MatrixStructure::getDiagonal(rows));
      else
        blocks.push_back(MatrixStructure::getZero(rows, cols));
  return blocks;
}

/// The product of two grids of blocks with `inner` blocks between them.
static MatrixStructure multiplyGrids(const std::vector<MatrixStructure> &second,
                                     const std::vector<MatrixStructure> &first, int64_t inner) {
  int64_t blockRows = second.size() / inner, blockCols = first.size() / inner;
  std::vector<MatrixStructure> blocks;
  for (int64_t i = 0; i < blockRows; ++i)
    for (int64_t j = 0; j < blockCols; ++j) {
      MatrixStructure sum =
          MatrixStructure::getZero(second[i * inner].getRows(), first[j].getCols());
      for (int64_t k = 0; k < inner; ++k)
        sum = add(sum, multiply(second[i * inner + k], first[k * blockCols + j]));
      blocks.push_back(sum);
    }
  return MatrixStructure::getBlock(blockRows, blockCols, std::move(blocks));
}

std::vector<int64_t> MatrixStructure::getBlockHeights() const {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < blockRows; ++i)
    sizes.push_back((*blocks)[i * blockCols].rows);
  return sizes;
}

std::vector<int64_t> MatrixStructure::getBlockWidths() const {
  std::vector<int64_t> sizes;
  for (int64_t j = 0; j < blockCols; ++j)
    sizes.push_back((*blocks)[j].cols);
  return sizes;
}

MatrixStructure MatrixStructure::multiplyAsGrids(const MatrixStructure &second,
                                                 const MatrixStructure &first) {
  bool isSecond = second.kind == Kind::Block, isFirst = first.kind == Kind::Block;
  std::vector<int64_t> inner = isSecond ? second.getBlockWidths() : first.getBlockHeights();
  if (isSecond && isFirst && inner != first.getBlockHeights())
    return multiplyPatterns(second, first);
  auto cutOuter = [&](const MatrixStructure &matrix, int64_t size) {
    return isDiagonal(matrix) ? inner : std::vector<int64_t>{size};
  };
  return multiplyGrids(
      isSecond ? *second.blocks : cut(second, cutOuter(second, second.rows), inner),
      isFirst ? *first.blocks : cut(first, inner, cutOuter(first, first.cols)), inner.size());
}

MatrixStructure bppsa::multiply(const MatrixStructure &second, const MatrixStructure &first) {
  assert(second.getCols() == first.getRows() && "sizes compose");
  int64_t rows = second.getRows(), cols = first.getCols();
  bool shared = second.isShared() && first.isShared();
  if (second.getKind() == Kind::Zero || first.getKind() == Kind::Zero)
    return MatrixStructure::getZero(rows, cols);
  if (second.getKind() == Kind::Identity)
    return first;
  if (first.getKind() == Kind::Identity)
    return second;
  if (isDiagonal(second) && isDiagonal(first))
    return MatrixStructure::getDiagonal(rows).withShared(shared);
  // Scaling rows or columns keeps zeros where they are.
  if (isDiagonal(second))
    return first.withShared(shared);
  if (isDiagonal(first))
    return second.withShared(shared);
  if (second.getKind() == Kind::Sparse || first.getKind() == Kind::Sparse)
    return multiplyPatterns(second, first).withShared(shared);
  if (second.getKind() == Kind::Block || first.getKind() == Kind::Block)
    return MatrixStructure::multiplyAsGrids(second, first).withShared(shared);
  return MatrixStructure::getDense(rows, cols).withShared(shared);
}

//===----------------------------------------------------------------------===//
// Pictures
//===----------------------------------------------------------------------===//

/// Counts of possible nonzeros in the cells of a picture.
struct MatrixStructure::Picture {
  int64_t rows, cols, height, width;
  std::vector<int64_t> counts;

  /// The first row and column of a cell, and of the end.
  int64_t getFirstRow(int64_t cell) const { return (cell * rows + height - 1) / height; }
  int64_t getFirstCol(int64_t cell) const { return (cell * cols + width - 1) / width; }
};

void MatrixStructure::addPatternTo(Picture &picture, int64_t firstRow, int64_t firstCol) const {
  // Many rows are equal: the cells of each distinct one are counted once.
  std::vector<std::vector<int64_t>> ofClass(pattern->getNumClasses());
  for (int64_t row = 0; row < rows; ++row) {
    int32_t index = pattern->getRowClass(row);
    std::vector<int64_t> &cells = ofClass[index];
    if (cells.empty()) {
      cells.resize(picture.width, 0);
      for (int32_t col : pattern->getClass(index))
        ++cells[(firstCol + col) * picture.width / picture.cols];
    }
    int64_t y = (firstRow + row) * picture.height / picture.rows;
    for (auto [x, count] : llvm::enumerate(cells))
      picture.counts[y * picture.width + x] += count;
  }
}

void MatrixStructure::addTo(Picture &picture, int64_t firstRow, int64_t firstCol) const {
  if (kind == Kind::Block)
    return forEachBlock([&](const MatrixStructure &block, int64_t row, int64_t col) {
      block.addTo(picture, firstRow + row, firstCol + col);
    });
  if (kind == Kind::Sparse)
    return addPatternTo(picture, firstRow, firstCol);
  if (kind == Kind::Zero)
    return;
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      // The part of this matrix that lies in the cell.
      int64_t top = std::max(picture.getFirstRow(y) - firstRow, int64_t(0));
      int64_t bottom = std::min(picture.getFirstRow(y + 1) - firstRow, rows);
      int64_t left = std::max(picture.getFirstCol(x) - firstCol, int64_t(0));
      int64_t right = std::min(picture.getFirstCol(x + 1) - firstCol, cols);
      int64_t &count = picture.counts[y * picture.width + x];
      if (kind == Kind::Dense)
        count += std::max(bottom - top, int64_t(0)) * std::max(right - left, int64_t(0));
      else
        count += std::max(std::min(bottom, right) - std::max(top, left), int64_t(0));
    }
}

std::vector<std::string> MatrixStructure::sample(int64_t most) const {
  Picture picture{rows, cols, std::min(rows, most), std::min(cols, most), {}};
  picture.counts.resize(picture.height * picture.width, 0);
  addTo(picture, 0, 0);
  std::vector<std::string> lines(picture.height, std::string(picture.width, '0'));
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      int64_t area = (picture.getFirstRow(y + 1) - picture.getFirstRow(y)) *
                     (picture.getFirstCol(x + 1) - picture.getFirstCol(x));
      // Rounded up: a cell that is not empty is seen.
      int64_t digit = (9 * picture.counts[y * picture.width + x] + area - 1) / area;
      lines[y][x] = char('0' + digit);
    }
  return lines;
}

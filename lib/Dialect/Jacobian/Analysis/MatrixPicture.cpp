//===- MatrixPicture.cpp - small pictures of sparsity patterns ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"

using namespace mlir;
using namespace bppsa;

struct MatrixStructure::Picture {
  int64_t rows, cols, height, width;
  std::vector<int64_t> counts;

  int64_t getCellOfRow(int64_t row) const { return row * height / rows; }
  int64_t getCellOfCol(int64_t col) const { return col * width / cols; }
  int64_t getFirstRow(int64_t cell) const { return (cell * rows + height - 1) / height; }
  int64_t getFirstCol(int64_t cell) const { return (cell * cols + width - 1) / width; }
};

void MatrixStructure::drawPattern(const Block &block, Picture &picture) {
  const SparsityPattern &pattern = block.structure.getPattern().getValue();
  // Many rows are equal, so cells are counted once per distinct row.
  std::vector<std::vector<int64_t>> ofClass(pattern.getNumClasses());
  for (int64_t row = 0; row < block.rows; ++row) {
    int32_t index = pattern.getRowClass(row);
    std::vector<int64_t> &cells = ofClass[index];
    if (cells.empty()) {
      cells.resize(picture.width, 0);
      for (int32_t col : pattern.getClass(index))
        ++cells[picture.getCellOfCol(block.col + col)];
    }
    int64_t y = picture.getCellOfRow(block.row + row);
    for (auto [x, count] : llvm::enumerate(cells))
      picture.counts[y * picture.width + x] += count;
  }
}

void MatrixStructure::draw(const Block &block, Picture &picture) {
  if (block.structure.is(jacobian::StructureKind::CSR))
    return drawPattern(block, picture);
  int64_t lastY = picture.getCellOfRow(block.row + block.rows - 1);
  int64_t lastX = picture.getCellOfCol(block.col + block.cols - 1);
  for (int64_t y = picture.getCellOfRow(block.row); y <= lastY; ++y)
    for (int64_t x = picture.getCellOfCol(block.col); x <= lastX; ++x) {
      int64_t top = std::max(picture.getFirstRow(y) - block.row, int64_t(0));
      int64_t bottom = std::min(picture.getFirstRow(y + 1) - block.row, block.rows);
      int64_t left = std::max(picture.getFirstCol(x) - block.col, int64_t(0));
      int64_t right = std::min(picture.getFirstCol(x + 1) - block.col, block.cols);
      int64_t &count = picture.counts[y * picture.width + x];
      if (block.structure.isDiagonal())
        count += std::max(std::min(bottom, right) - std::max(top, left), int64_t(0));
      else
        count += (bottom - top) * (right - left);
    }
}

std::vector<std::string> MatrixStructure::sample(int64_t most) const {
  Picture picture{rows, cols, std::min(rows, most), std::min(cols, most), {}};
  picture.counts.resize(picture.height * picture.width, 0);
  forEachBlock([&](const Block &block) { draw(block, picture); });
  std::vector<std::string> lines(picture.height, std::string(picture.width, '0'));
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      int64_t area = (picture.getFirstRow(y + 1) - picture.getFirstRow(y)) *
                     (picture.getFirstCol(x + 1) - picture.getFirstCol(x));
      // Round up so that a nonempty cell is visible.
      int64_t digit = (9 * picture.counts[y * picture.width + x] + area - 1) / area;
      lines[y][x] = char('0' + digit);
    }
  return lines;
}

//===- MatrixStructure.cpp - matrix structure for cost models -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

static bool isTrivial(jacobian::StructureAttr structure) {
  return structure.is(jacobian::StructureKind::Zero) ||
         structure.is(jacobian::StructureKind::Identity);
}

MatrixStructure::MatrixStructure(jacobian::StructureAttr structure, int64_t rows, int64_t cols,
                                 bool shared)
    : structure(structure.simplify(rows, cols)), rows(rows), cols(cols),
      shared(shared || isTrivial(this->structure)) {}

MatrixStructure MatrixStructure::getDense(MLIRContext *context, int64_t rows, int64_t cols) {
  return MatrixStructure(jacobian::StructureAttr::get(context, jacobian::StructureKind::Dense),
                         rows, cols);
}

MatrixStructure MatrixStructure::withShared(bool shared) const {
  MatrixStructure result = *this;
  result.shared = shared || isTrivial(structure);
  return result;
}

static bool isFull(jacobian::StructureAttr structure) {
  switch (structure.getKind()) {
  case jacobian::StructureKind::Zero:
  case jacobian::StructureKind::Identity:
  case jacobian::StructureKind::Diagonal:
  case jacobian::StructureKind::CSR:
  case jacobian::StructureKind::BlockDiagonal:
    return false;
  case jacobian::StructureKind::Blocks:
    return llvm::all_of(structure.getParts(), isFull);
  default:
    // Sums of pattern structures simplify to patterns, so this sum is full.
    return true;
  }
}

bool MatrixStructure::isDense() const { return isFull(structure); }

bool MatrixStructure::hasPicture() const {
  return !isDense() && structure.getKind() >= jacobian::StructureKind::CSR;
}

std::string MatrixStructure::getName() const {
  if (isTrivial(structure))
    return stringifyStructureKind(structure.getKind()).str();
  StringRef name = isDense()                                       ? "dense"
                   : isDiagonal()                                  ? "diagonal"
                   : structure.is(jacobian::StructureKind::Blocks) ? "block"
                                                                   : "csr";
  return (shared ? "shared-" : "") + name.str();
}

void MatrixStructure::forEachBlock(const Block &whole, function_ref<void(const Block &)> visit) {
  jacobian::StructureAttr structure = whole.structure;
  switch (structure.getKind()) {
  case jacobian::StructureKind::Zero:
    return;
  case jacobian::StructureKind::BlockDiagonal: {
    int64_t height = whole.rows / structure.getCount(), width = whole.cols / structure.getCount();
    for (int64_t i = 0; i < structure.getCount(); ++i)
      forEachBlock({structure.getParts().front(), whole.row + i * height, whole.col + i * width,
                    height, width},
                   visit);
    return;
  }
  case jacobian::StructureKind::Blocks: {
    ArrayRef<jacobian::StructureAttr> parts = structure.getParts();
    int64_t row = whole.row;
    for (int64_t height : structure.getRowSizes()) {
      int64_t col = whole.col;
      for (int64_t width : structure.getColSizes()) {
        forEachBlock({parts.consume_front(), row, col, height, width}, visit);
        col += width;
      }
      row += height;
    }
    return;
  }
  default:
    visit(whole);
  }
}

void MatrixStructure::forEachBlock(function_ref<void(const Block &)> visit) const {
  forEachBlock({structure, 0, 0, rows, cols}, visit);
}

std::vector<int64_t> MatrixStructure::getRowCounts() const {
  std::vector<int64_t> counts(rows, 0);
  forEachBlock([&](const Block &block) {
    for (int64_t row = 0; row < block.rows; ++row)
      counts[block.row + row] +=
          block.structure.isDiagonal() ? 1
          : block.structure.is(jacobian::StructureKind::CSR)
              ? int64_t(block.structure.getPattern().getValue().getRow(row).size())
              : block.cols;
  });
  return counts;
}

std::vector<int64_t> MatrixStructure::getColumnCounts() const {
  std::vector<int64_t> counts(cols, 0);
  forEachBlock([&](const Block &block) {
    std::vector<int64_t> own;
    if (block.structure.is(jacobian::StructureKind::CSR))
      own = block.structure.getPattern().getValue().countColumns();
    else
      own.assign(block.cols, block.structure.isDiagonal() ? 1 : block.rows);
    for (auto [col, count] : llvm::enumerate(own))
      counts[block.col + col] += count;
  });
  return counts;
}

int64_t MatrixStructure::getNumNonzeros() const {
  int64_t number = 0;
  forEachBlock([&](const Block &block) {
    number += block.structure.isDiagonal() ? block.rows
              : block.structure.is(jacobian::StructureKind::CSR)
                  ? block.structure.getPattern().getValue().getNumEntries()
                  : block.rows * block.cols;
  });
  return number;
}

int64_t MatrixStructure::getNumBytes(int64_t elementBytes) const {
  int64_t ones = 0;
  forEachBlock([&](const Block &block) {
    ones += block.structure.is(jacobian::StructureKind::Identity) ? block.rows : 0;
  });
  return (getNumNonzeros() - ones) * elementBytes;
}

int64_t MatrixStructure::getNumIndexBytes() const {
  constexpr int64_t indexBytes = 4;
  if (structure.is(jacobian::StructureKind::CSR) ||
      structure.is(jacobian::StructureKind::BlockDiagonal))
    return indexBytes * (getNumNonzeros() + rows + 1);
  // A grid has the indices of its parts.
  int64_t bytes = 0;
  size_t width = structure.getColSizes().size();
  if (structure.is(jacobian::StructureKind::Blocks))
    for (auto [i, part] : llvm::enumerate(structure.getParts()))
      bytes += MatrixStructure(part, structure.getRowSizes()[i / width],
                               structure.getColSizes()[i % width])
                   .getNumIndexBytes();
  return bytes;
}

int64_t bppsa::countFlops(const MatrixStructure &second, const MatrixStructure &first) {
  assert(second.getCols() == first.getRows() && "sizes compose");
  if (isTrivial(second.getStructure()) || isTrivial(first.getStructure()))
    return 0;
  if (second.isDiagonal())
    return first.getNumNonzeros();
  if (first.isDiagonal())
    return second.getNumNonzeros();
  if (second.isDense() && first.isDense())
    return 2 * second.getRows() * second.getCols() * first.getCols();
  std::vector<int64_t> columns = second.getColumnCounts(), rows = first.getRowCounts();
  return 2 * std::inner_product(columns.begin(), columns.end(), rows.begin(), int64_t(0));
}

MatrixStructure bppsa::multiply(const MatrixStructure &second, const MatrixStructure &first) {
  assert(second.getCols() == first.getRows() && "sizes compose");
  int64_t rows = second.getRows(), inner = second.getCols(), cols = first.getCols();
  return MatrixStructure(jacobian::StructureAttr::product(second.getStructure(),
                                                          first.getStructure(), rows, inner, cols),
                         rows, cols, second.isShared() && first.isShared());
}

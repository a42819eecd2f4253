//===- StructureTest.cpp - products and sums of structures ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Multiplies and adds dense matrices of every pair of structures. The results must have the
// structure predicted by the product table. Values are positive integers, so sums are exact and
// never cancel.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <random>

using namespace bppsa;
using llvm::ArrayRef;
using Kind = jacobian::StructureKind;

namespace {
constexpr int numSamples = 3;

struct Matrix {
  int64_t rows, cols;
  std::vector<int64_t> values;

  Matrix(int64_t rows, int64_t cols) : rows(rows), cols(cols), values(rows * cols, 0) {}
  int64_t &operator()(int64_t row, int64_t col) { return values[row * cols + col]; }
  int64_t operator()(int64_t row, int64_t col) const { return values[row * cols + col]; }

  Matrix cut(int64_t row, int64_t col, int64_t numRows, int64_t numCols) const {
    Matrix result(numRows, numCols);
    for (int64_t i = 0; i < numRows; ++i)
      for (int64_t j = 0; j < numCols; ++j)
        result(i, j) = (*this)(row + i, col + j);
    return result;
  }
  void paste(const Matrix &block, int64_t row, int64_t col) {
    for (int64_t i = 0; i < block.rows; ++i)
      for (int64_t j = 0; j < block.cols; ++j)
        (*this)(row + i, col + j) += block(i, j);
  }
};

/// One matrix per sample.
using Matrices = std::vector<Matrix>;

/// Calls `visit` with the structure and position of each block.
void forEachBlock(jacobian::StructureAttr structure, int64_t rows, int64_t cols,
                  llvm::function_ref<void(jacobian::StructureAttr, std::array<int64_t, 4>)> visit) {
  if (structure.is(Kind::BlockDiagonal)) {
    int64_t height = rows / structure.getCount(), width = cols / structure.getCount();
    for (int64_t i = 0; i < structure.getCount(); ++i)
      visit(structure.getParts().front(), {i * height, i * width, height, width});
    return;
  }
  size_t part = 0;
  int64_t row = 0;
  for (int64_t height : structure.getRowSizes()) {
    int64_t col = 0;
    for (int64_t width : structure.getColSizes()) {
      visit(structure.getParts()[part++], {row, col, height, width});
      col += width;
    }
    row += height;
  }
}

class Structures : public ::testing::Test {
protected:
  Structures() { context.loadDialect<BPPSADialect>(); }

  mlir::MLIRContext context;
  std::mt19937 random{7};

  jacobian::StructureAttr get(Kind kind) { return jacobian::StructureAttr::get(&context, kind); }

  Matrix makePositive(int64_t rows, int64_t cols) {
    Matrix result(rows, cols);
    for (int64_t &value : result.values)
      value = 1 + random() % 50;
    return result;
  }

  jacobian::StructureAttr makeCSR(int64_t rows, int64_t cols, unsigned oneIn) {
    std::vector<std::pair<int32_t, int32_t>> entries = {{0, int32_t(cols - 1)}};
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < cols; ++j)
        if (random() % oneIn == 0)
          entries.push_back({i, j});
    return jacobian::StructureAttr::getCSR(
        jacobian::PatternAttr::get(&context, SparsityPattern::fromEntries(rows, cols, entries)));
  }

  /// Returns structures of every kind for this shape. Both sizes must be even and greater than 2.
  std::vector<jacobian::StructureAttr> makeAll(int64_t rows, int64_t cols) {
    std::vector<jacobian::StructureAttr> all;
    for (Kind kind :
         {Kind::Zero, Kind::Dense, Kind::SharedDense, Kind::RowScaled, Kind::ColumnScaled})
      all.push_back(get(kind));
    all.push_back(makeCSR(rows, cols, 3));
    all.push_back(makeCSR(rows, cols, 8));
    all.push_back(jacobian::StructureAttr::getBlockDiagonal(2, get(Kind::Dense)));
    all.push_back(jacobian::StructureAttr::getBlockDiagonal(2, get(Kind::SharedDense)));
    all.push_back(jacobian::StructureAttr::getBlockDiagonal(2, makeCSR(rows / 2, cols / 2, 3)));
    all.push_back(jacobian::StructureAttr::getBlocks(
        {2, rows - 2}, {2, cols - 2},
        {get(Kind::Diagonal), get(Kind::RowScaled), get(Kind::Zero), get(Kind::SharedDense)}));
    all.push_back(
        jacobian::StructureAttr::getBlocks({2, rows - 2}, {cols - 1, 1},
                                           {get(Kind::ColumnScaled), get(Kind::Zero),
                                            makeCSR(rows - 2, cols - 1, 3), get(Kind::Dense)}));
    all.push_back(makeSum({Kind::RowScaled, Kind::RowScaled}));
    if (rows != cols)
      return all;
    for (Kind kind : {Kind::Identity, Kind::Diagonal})
      all.push_back(get(kind));
    all.push_back(jacobian::StructureAttr::getBlockDiagonal(2, get(Kind::Diagonal)));
    all.push_back(makeSum({Kind::Diagonal, Kind::RowScaled}));
    all.push_back(makeSum({Kind::Identity, Kind::SharedDense, Kind::ColumnScaled}));
    return all;
  }

  jacobian::StructureAttr makeSum(ArrayRef<Kind> kinds) {
    std::vector<jacobian::StructureAttr> parts;
    for (Kind kind : kinds)
      parts.push_back(get(kind));
    return jacobian::StructureAttr::get(&context, Kind::Sum, 0, {}, {}, {}, parts);
  }

  /// Returns random matrices with the given structure.
  Matrices makeMatrices(jacobian::StructureAttr structure, int64_t rows, int64_t cols) {
    Matrices result(numSamples, Matrix(rows, cols));
    Matrix shared = makePositive(rows, cols);
    switch (structure.getKind()) {
    case Kind::Sum:
      for (jacobian::StructureAttr part : structure.getParts())
        for (auto [sum, term] : llvm::zip(result, makeMatrices(part, rows, cols)))
          sum.paste(term, 0, 0);
      return result;
    case Kind::BlockDiagonal: {
      Matrices block = makeMatrices(structure.getParts().front(), rows / structure.getCount(),
                                    cols / structure.getCount());
      forEachBlock(structure, rows, cols,
                   [&](jacobian::StructureAttr, std::array<int64_t, 4> place) {
                     for (auto [whole, part] : llvm::zip(result, block))
                       whole.paste(part, place[0], place[1]);
                   });
      return result;
    }
    case Kind::Blocks:
      forEachBlock(
          structure, rows, cols, [&](jacobian::StructureAttr part, std::array<int64_t, 4> place) {
            for (auto [whole, block] : llvm::zip(result, makeMatrices(part, place[2], place[3])))
              whole.paste(block, place[0], place[1]);
          });
      return result;
    default:
      break;
    }
    SparsityPattern pattern = structure.computePattern(rows, cols);
    for (Matrix &matrix : result) {
      Matrix rowScale = makePositive(rows, 1), colScale = makePositive(1, cols);
      for (int64_t i = 0; i < rows; ++i)
        for (int32_t j : pattern.getRow(i))
          matrix(i, j) = structure.is(Kind::Identity)       ? 1
                         : structure.is(Kind::SharedDense)  ? shared(i, j)
                         : structure.is(Kind::RowScaled)    ? shared(i, j) * rowScale(i, 0)
                         : structure.is(Kind::ColumnScaled) ? shared(i, j) * colScale(0, j)
                                                            : 1 + random() % 50;
    }
    return result;
  }

  /// Returns true if elements (i, j) and (k, l) have the same ratio in all samples.
  static bool haveOneRatio(const Matrices &matrices, int64_t i, int64_t j, int64_t k, int64_t l) {
    return llvm::all_of(matrices, [&](const Matrix &m) {
      return m(i, j) * matrices[0](k, l) == m(k, l) * matrices[0](i, j);
    });
  }

  /// Returns true if the matrices have the given structure. For sums, only the zeros are checked.
  static bool have(const Matrices &matrices, jacobian::StructureAttr structure) {
    int64_t rows = matrices[0].rows, cols = matrices[0].cols;
    SparsityPattern pattern = structure.computePattern(rows, cols);
    bool result = true;
    for (const Matrix &matrix : matrices)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {
          result &= (matrix(i, j) != 0) <= pattern.contains(i, j);
          if (structure.is(Kind::Identity))
            result &= matrix(i, j) == (i == j);
          if (structure.is(Kind::SharedDense))
            result &= matrix(i, j) == matrices[0](i, j);
          if (structure.is(Kind::RowScaled))
            result &= haveOneRatio(matrices, i, j, i, 0);
          if (structure.is(Kind::ColumnScaled))
            result &= haveOneRatio(matrices, i, j, 0, j);
        }
    forEachBlock(
        structure, rows, cols, [&](jacobian::StructureAttr part, std::array<int64_t, 4> place) {
          Matrices blocks;
          for (const Matrix &matrix : matrices) {
            blocks.push_back(matrix.cut(place[0], place[1], place[2], place[3]));
            if (structure.is(Kind::BlockDiagonal))
              result &= blocks.back().values == matrix.cut(0, 0, place[2], place[3]).values;
          }
          result &= have(blocks, part);
        });
    return result;
  }

  void checkProducts(int64_t rows, int64_t inner, int64_t cols) {
    for (jacobian::StructureAttr a : makeAll(rows, inner))
      for (jacobian::StructureAttr b : makeAll(inner, cols)) {
        Matrices left = makeMatrices(a, rows, inner), right = makeMatrices(b, inner, cols);
        Matrices products(numSamples, Matrix(rows, cols));
        for (int sample = 0; sample < numSamples; ++sample)
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
              for (int64_t k = 0; k < inner; ++k)
                products[sample](i, j) += left[sample](i, k) * right[sample](k, j);
        jacobian::StructureAttr product = jacobian::StructureAttr::product(a, b, rows, inner, cols);
        std::string name = a.toString() + " times " + b.toString() + " is " + product.toString();
        ASSERT_TRUE(have(left, a) && have(right, b)) << name;
        EXPECT_TRUE(have(products, product)) << name;
        EXPECT_EQ(product.computePattern(rows, cols),
                  multiply(a.computePattern(rows, inner), b.computePattern(inner, cols)).pattern)
            << name;
      }
  }
};
} // namespace

TEST_F(Structures, ProductsOfSquareMatrices) { checkProducts(6, 6, 6); }
TEST_F(Structures, ProductsToTallMatrices) { checkProducts(6, 6, 4); }
TEST_F(Structures, ProductsOfRectangles) { checkProducts(4, 6, 8); }

TEST_F(Structures, Sums) {
  for (auto [rows, cols] : {std::pair(6, 6), std::pair(4, 6)})
    for (jacobian::StructureAttr a : makeAll(rows, cols))
      for (jacobian::StructureAttr b : makeAll(rows, cols)) {
        Matrices sums = makeMatrices(a, rows, cols);
        for (auto [sum, term] : llvm::zip(sums, makeMatrices(b, rows, cols)))
          sum.paste(term, 0, 0);
        jacobian::StructureAttr sum = jacobian::StructureAttr::sum(a, b, rows, cols);
        std::string name = a.toString() + " plus " + b.toString() + " is " + sum.toString();
        EXPECT_TRUE(have(sums, sum)) << name;
        EXPECT_EQ(sum.computePattern(rows, cols),
                  a.computePattern(rows, cols).unite(b.computePattern(rows, cols)))
            << name;
      }
}

/// Sums are multiplied term by term, so the checks of products also cover sums.
TEST_F(Structures, ProductsDistributeOverSums) {
  for (jacobian::StructureAttr a : makeAll(6, 6))
    for (jacobian::StructureAttr b : makeAll(6, 6)) {
      if (a.is(Kind::Sum) || b.is(Kind::Sum))
        continue;
      jacobian::StructureAttr sum = jacobian::StructureAttr::sum(a, b, 6, 6);
      for (jacobian::StructureAttr c : makeAll(6, 6))
        if (sum.is(Kind::Sum))
          EXPECT_EQ(jacobian::StructureAttr::product(sum, c, 6, 6, 6),
                    jacobian::StructureAttr::sum(jacobian::StructureAttr::product(a, c, 6, 6, 6),
                                                 jacobian::StructureAttr::product(b, c, 6, 6, 6), 6,
                                                 6))
              << sum.toString() << " times " << c.toString();
    }
}

TEST_F(Structures, ChainsOfRecurrentCells) {
  auto square = [](jacobian::StructureAttr a) {
    return jacobian::StructureAttr::product(a, a, 6, 6, 6);
  };
  EXPECT_EQ(square(get(Kind::Diagonal)), get(Kind::Diagonal));
  EXPECT_EQ(square(get(Kind::SharedDense)), get(Kind::SharedDense));
  EXPECT_EQ(square(get(Kind::RowScaled)), get(Kind::Dense));
  EXPECT_EQ(square(makeSum({Kind::Diagonal, Kind::RowScaled})), get(Kind::Dense));
  jacobian::StructureAttr lstm = jacobian::StructureAttr::getBlocks(
      {3, 3}, {3, 3},
      {makeSum({Kind::ColumnScaled, Kind::ColumnScaled}), get(Kind::ColumnScaled),
       get(Kind::Diagonal), get(Kind::Diagonal)});
  jacobian::StructureAttr product = square(lstm);
  ASSERT_TRUE(product.is(Kind::Dense) || product.is(Kind::Blocks)) << product.toString();
  EXPECT_TRUE(product.computePattern(6, 6).isDense());
  EXPECT_EQ(jacobian::StructureAttr::product(lstm, get(Kind::Diagonal), 6, 6, 6).getRowSizes(),
            lstm.getRowSizes());
}

TEST_F(Structures, SimplerStructuresSayAsMuch) {
  for (auto [rows, cols] : {std::pair(6, 6), std::pair(4, 6)})
    for (jacobian::StructureAttr structure : makeAll(rows, cols)) {
      jacobian::StructureAttr simple = structure.simplify(rows, cols);
      EXPECT_EQ(simple.computePattern(rows, cols), structure.computePattern(rows, cols))
          << structure.toString();
      EXPECT_EQ(simple.simplify(rows, cols), simple) << structure.toString();
    }
  auto getCSR = [&](SparsityPattern pattern) {
    return jacobian::StructureAttr::getCSR(
        jacobian::PatternAttr::get(&context, std::move(pattern)));
  };
  jacobian::StructureAttr zero = getCSR(SparsityPattern::getZero(3, 3));
  jacobian::StructureAttr diagonal = getCSR(SparsityPattern::getIdentity(3));
  EXPECT_EQ(zero.simplify(3, 3), get(Kind::Zero));
  EXPECT_EQ(diagonal.simplify(3, 3), get(Kind::Diagonal));
  EXPECT_EQ(getCSR(SparsityPattern::getDense(3, 2)).simplify(3, 2), get(Kind::Dense));
  EXPECT_EQ(jacobian::StructureAttr::getBlockDiagonal(2, diagonal).simplify(6, 6),
            get(Kind::Diagonal));
  EXPECT_EQ(jacobian::StructureAttr::getBlocks({3, 3}, {3, 3}, {diagonal, zero, zero, diagonal})
                .simplify(6, 6),
            get(Kind::Diagonal));
  EXPECT_EQ(jacobian::StructureAttr::get(&context, Kind::Sum, 0, {}, {}, {}, {diagonal, zero})
                .simplify(3, 3),
            get(Kind::Diagonal));
}

TEST_F(Structures, SumsOfManyTermsAreDense) {
  jacobian::StructureAttr sum = get(Kind::Diagonal);
  for (int i = 0; i < 7; ++i)
    sum = jacobian::StructureAttr::sum(sum, get(Kind::RowScaled), 6, 6);
  EXPECT_EQ(sum.getParts().size(), 8u);
  EXPECT_TRUE(jacobian::StructureAttr::sum(sum, get(Kind::RowScaled), 6, 6).is(Kind::Dense));
}

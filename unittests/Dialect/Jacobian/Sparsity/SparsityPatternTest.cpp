//===- SparsityPatternTest.cpp - patterns compared to dense matrices ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "Dense.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace bppsa;
using namespace bppsa::test;
using llvm::ArrayRef;

TEST(SparsityPattern, NamedPatterns) {
  EXPECT_EQ(SparsityPattern::getZero(2, 3).getNumEntries(), 0);
  EXPECT_TRUE(SparsityPattern::getZero(2, 3).isZero());
  EXPECT_TRUE(SparsityPattern::getDense(2, 3).isDense());
  EXPECT_EQ(SparsityPattern::getDense(1000, 3).getNumClasses(), 1);
  EXPECT_TRUE(SparsityPattern::getIdentity(4).isIdentity());
  EXPECT_FALSE(SparsityPattern::getDense(4, 4).isIdentity());
  EXPECT_EQ(SparsityPattern::getSelection({2, -1, 0}, 3),
            SparsityPattern::fromEntries(3, 3, {{0, 2}, {2, 0}}));
  EXPECT_DOUBLE_EQ(SparsityPattern::getIdentity(4).getZeroFraction(), 0.75);
}

TEST(SparsityPattern, RowsWithTheSameColumnsAreOneClass) {
  SparsityPattern pattern =
      SparsityPattern::fromEntries(4, 5, {{0, 3}, {0, 1}, {2, 1}, {2, 3}, {3, 0}, {0, 3}});
  EXPECT_EQ(pattern.getRow(2), ArrayRef<int32_t>({1, 3}));
  EXPECT_EQ(pattern.getNumClasses(), 3);
  EXPECT_EQ(pattern.getRowClass(0), pattern.getRowClass(2));
  EXPECT_EQ(pattern.getRowStart(2), 2);
  EXPECT_EQ(pattern.getRowStart(4), 5);
  EXPECT_TRUE(pattern.contains(2, 3));
  EXPECT_FALSE(pattern.contains(1, 3));
}

TEST(SparsityPattern, FromDenseLeavesOutZerosOfBothSigns) {
  EXPECT_EQ(SparsityPattern::fromDense(2, 2, {0.0f, 1.0f, -0.0f, -2.0f}),
            SparsityPattern::fromEntries(2, 2, {{0, 1}, {1, 1}}));
}

/// Operations on random patterns must match operations on dense matrices.
class PatternProperty : public ::testing::TestWithParam<unsigned> {
protected:
  std::mt19937 random{GetParam()};
  SparsityPattern a = makeRandom(random, makeSize(random), makeSize(random));
  Dense dense = toDense(a);
};

TEST_P(PatternProperty, TransposeAndColumnCounts) {
  Dense expected(dense.cols, dense.rows);
  std::vector<int64_t> counts(dense.cols, 0);
  for (int64_t i = 0; i < dense.rows; ++i)
    for (int64_t j = 0; j < dense.cols; ++j) {
      expected(j, i) = dense(i, j);
      counts[j] += dense(i, j);
    }
  EXPECT_EQ(toDense(a.transpose()), expected);
  EXPECT_EQ(a.transpose().transpose(), a);
  EXPECT_EQ(a.countColumns(), counts);
}

TEST_P(PatternProperty, Union) {
  SparsityPattern b = makeRandom(random, dense.rows, dense.cols);
  Dense other = toDense(b), expected(dense.rows, dense.cols);
  for (size_t i = 0; i < expected.values.size(); ++i)
    expected.values[i] = dense.values[i] | other.values[i];
  EXPECT_EQ(toDense(a.unite(b)), expected);
  EXPECT_EQ(a.unite(b), b.unite(a));
}

TEST_P(PatternProperty, SelectionOfRowsAndColumns) {
  std::vector<int32_t> rows(makeSize(random)), cols(dense.cols);
  for (int32_t &row : rows)
    row = random() % dense.rows;
  std::iota(cols.begin(), cols.end(), 0);
  std::shuffle(cols.begin(), cols.end(), random);
  cols.resize(1 + random() % dense.cols);
  Dense fromRows(rows.size(), dense.cols), fromCols(dense.rows, cols.size());
  for (int64_t i = 0; i < fromRows.rows; ++i)
    for (int64_t j = 0; j < dense.cols; ++j)
      fromRows(i, j) = dense(rows[i], j);
  for (int64_t i = 0; i < dense.rows; ++i)
    for (int64_t j = 0; j < fromCols.cols; ++j)
      fromCols(i, j) = dense(i, cols[j]);
  EXPECT_EQ(toDense(a.selectRows(rows)), fromRows);
  EXPECT_EQ(toDense(a.selectCols(cols)), fromCols);
}

TEST_P(PatternProperty, Kronecker) {
  SparsityPattern b = makeRandom(random, makeSize(random), makeSize(random));
  Dense inner = toDense(b), expected(dense.rows * inner.rows, dense.cols * inner.cols);
  for (int64_t i = 0; i < expected.rows; ++i)
    for (int64_t j = 0; j < expected.cols; ++j)
      expected(i, j) =
          dense(i / inner.rows, j / inner.cols) * inner(i % inner.rows, j % inner.cols);
  EXPECT_EQ(toDense(SparsityPattern::getKronecker(a, b)), expected);
  EXPECT_EQ(SparsityPattern::getBlockDiagonal(b, 3),
            SparsityPattern::getKronecker(SparsityPattern::getIdentity(3), b));
}

TEST_P(PatternProperty, PruneAsksForEntriesInOrder) {
  std::vector<bool> mask(a.getNumEntries());
  for (size_t i = 0; i < mask.size(); ++i)
    mask[i] = random() % 2;
  Dense expected = dense;
  int64_t entry = 0, asked = 0;
  for (int64_t &value : expected.values)
    if (value)
      value = mask[entry++];
  SparsityPattern pruned = a.prune([&](int64_t number) {
    EXPECT_EQ(number, asked++);
    return mask[number];
  });
  EXPECT_EQ(toDense(pruned), expected);
  EXPECT_EQ(asked, a.getNumEntries());
}

INSTANTIATE_TEST_SUITE_P(Random, PatternProperty, ::testing::Range(0u, 100u));

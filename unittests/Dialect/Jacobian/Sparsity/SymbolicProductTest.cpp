//===- SymbolicProductTest.cpp - products compared to dense matrices ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"
#include "Dense.h"
#include "gtest/gtest.h"

using namespace bppsa;
using namespace bppsa::test;

/// Each element of the product counts the pairs that are summed.
static Dense multiplyNaively(const Dense &a, const Dense &b) {
  Dense result(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.cols; ++j)
      for (int64_t k = 0; k < a.cols; ++k)
        result(i, j) += a(i, k) * b(k, j);
  return result;
}

class ProductProperty : public ::testing::TestWithParam<unsigned> {
protected:
  std::mt19937 random{GetParam()};
  int64_t inner = makeSize(random);
  SparsityPattern a = makeRandom(random, makeSize(random), inner);
  SparsityPattern b = makeRandom(random, inner, makeSize(random));
};

TEST_P(ProductProperty, PatternAndMultiplyAdds) {
  Dense expected = multiplyNaively(toDense(a), toDense(b));
  int64_t pairs = 0;
  for (int64_t &value : expected.values) {
    pairs += value;
    value = value != 0;
  }
  SymbolicProduct product = multiply(a, b);
  EXPECT_EQ(toDense(product.pattern), expected);
  EXPECT_EQ(product.multiplyAdds, pairs);
  EXPECT_EQ(countMultiplyAdds(a, b), pairs);
}

/// Runs the numeric phase on random values.
TEST_P(ProductProperty, ScheduleComputesTheProduct) {
  SparsityPattern c = multiply(a, b).pattern;
  Dense lhs = toDense(a), rhs = toDense(b);
  std::vector<int64_t> lhsValues, rhsValues;
  auto fill = [&](Dense &matrix, std::vector<int64_t> &entries) {
    for (int64_t &value : matrix.values)
      if (value)
        entries.push_back(value = random() % 1000);
  };
  fill(lhs, lhsValues);
  fill(rhs, rhsValues);
  ProductSchedule schedule = *scheduleProduct(a, b, c, /*maxPairs=*/1000000);
  ASSERT_EQ(int64_t(schedule.starts.size()), c.getNumEntries() + 1);
  Dense result(c.getNumRows(), c.getNumCols());
  for (int64_t row = 0, entry = 0; row < c.getNumRows(); ++row)
    for (int32_t col : c.getRow(row)) {
      for (int64_t p = schedule.starts[entry]; p < schedule.starts[entry + 1]; ++p)
        result(row, col) += lhsValues[schedule.lhsEntries[p]] * rhsValues[schedule.rhsEntries[p]];
      ++entry;
    }
  EXPECT_EQ(result, multiplyNaively(lhs, rhs));
}

INSTANTIATE_TEST_SUITE_P(Random, ProductProperty, ::testing::Range(0u, 200u));

TEST(SymbolicProduct, FillsInPastTheWordsOfABitSet) {
  // With 300 columns, rows of the product span several words.
  SparsityPattern band = SparsityPattern::fromEntries(2, 2, {{0, 0}, {0, 1}, {1, 1}});
  SparsityPattern wide = SparsityPattern::fromEntries(2, 300, {{0, 63}, {0, 64}, {1, 299}, {1, 0}});
  EXPECT_EQ(
      multiply(band, wide).pattern,
      SparsityPattern::fromEntries(2, 300, {{0, 0}, {0, 63}, {0, 64}, {0, 299}, {1, 0}, {1, 299}}));
}

TEST(SymbolicProduct, ScheduleOverTheLimitIsRefused) {
  SparsityPattern dense = SparsityPattern::getDense(4, 4);
  EXPECT_FALSE(scheduleProduct(dense, dense, dense, /*maxPairs=*/63));
  EXPECT_TRUE(scheduleProduct(dense, dense, dense, /*maxPairs=*/64));
}

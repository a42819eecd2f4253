//===- MatrixStructureTest.cpp - structures against 0/1 matrices ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/MatrixStructure.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace bppsa;

namespace {
/// A matrix with ones where an entry may differ from zero.
using Mask = std::vector<std::vector<int64_t>>;

struct Example {
  MatrixStructure structure;
  Mask mask;
};
} // namespace

static Mask makeMask(int64_t rows, int64_t cols,
                     llvm::function_ref<bool(int64_t, int64_t)> isNonzero) {
  Mask mask(rows, std::vector<int64_t>(cols, 0));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      mask[i][j] = isNonzero(i, j);
  return mask;
}

/// Square matrices of size 6, among them grids that are cut in different places.
static std::vector<Example> makeExamples() {
  using M = MatrixStructure;
  auto isDiagonal = [](int64_t i, int64_t j) { return i == j; };
  return {
      {M::getZero(6, 6), makeMask(6, 6, [](int64_t, int64_t) { return false; })},
      {M::getIdentity(6), makeMask(6, 6, isDiagonal)},
      {M::getDiagonal(6), makeMask(6, 6, isDiagonal)},
      {M::getDense(6, 6), makeMask(6, 6, [](int64_t, int64_t) { return true; })},
      // As an LSTM's: the cell's part of the cell is a diagonal.
      {M::getBlock(2, 2,
                   {M::getDense(3, 3), M::getDense(3, 3), M::getZero(3, 3), M::getDiagonal(3)}),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i < 3 || i == j; })},
      {M::getBlock(2, 2,
                   {M::getDense(3, 3), M::getZero(3, 3), M::getZero(3, 3), M::getDense(3, 3)}),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i / 3 == j / 3; })},
      {M::getBlock(2, 2,
                   {M::getIdentity(2), M::getZero(2, 4), M::getZero(4, 2), M::getDense(4, 4)}),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i < 2 ? i == j : j >= 2; })},
      {M::getBlock(1, 2, {M::getZero(6, 3), M::getDense(6, 3)}),
       makeMask(6, 6, [](int64_t, int64_t j) { return j >= 3; })},
      {M::getSparse(SparsityPattern::fromEntries(6, 6, {{0, 5}, {2, 1}, {2, 2}, {5, 0}})),
       makeMask(6, 6,
                [](int64_t i, int64_t j) {
                  return (i == 0 && j == 5) || (i == 2 && (j == 1 || j == 2)) || (i == 5 && j == 0);
                })},
      {M::getSparse(SparsityPattern::getBlockDiagonal(SparsityPattern::getDense(2, 2), 3)),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i / 2 == j / 2; })},
  };
}

TEST(MatrixStructureTest, CountsAreThoseOfTheMask) {
  for (const Example &example : makeExamples()) {
    std::vector<int64_t> rows(6, 0), cols(6, 0);
    int64_t all = 0;
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 6; ++j) {
        rows[i] += example.mask[i][j];
        cols[j] += example.mask[i][j];
        all += example.mask[i][j];
      }
    EXPECT_EQ(example.structure.getRowCounts(), rows) << example.structure.getName();
    EXPECT_EQ(example.structure.getColumnCounts(), cols) << example.structure.getName();
    EXPECT_EQ(example.structure.getNumNonzeros(), all) << example.structure.getName();
  }
}

TEST(MatrixStructureTest, ProductsHaveTheNonzerosAndCountEveryPair) {
  std::vector<Example> examples = makeExamples();
  for (const Example &second : examples)
    for (const Example &first : examples) {
      int64_t pairs = 0;
      Mask product = makeMask(6, 6, [&](int64_t i, int64_t j) {
        int64_t sum = 0;
        for (int64_t k = 0; k < 6; ++k)
          sum += second.mask[i][k] * first.mask[k][j];
        pairs += sum;
        return sum > 0;
      });
      auto isFree = [](const MatrixStructure &structure) {
        return structure.getKind() == MatrixStructure::Kind::Identity;
      };
      std::string names = second.structure.getName() + " * " + first.structure.getName();
      if (!isFree(second.structure) && !isFree(first.structure))
        EXPECT_EQ(countMultiplyAdds(second.structure, first.structure), pairs) << names;
      std::vector<std::string> picture = multiply(second.structure, first.structure).sample(6);
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t j = 0; j < 6; ++j)
          EXPECT_EQ(product[i][j] * 9, picture[i][j] - '0') << names << " at " << i << ", " << j;
    }
}

TEST(MatrixStructureTest, TheProductTableIsExactForEqualGrids) {
  using M = MatrixStructure;
  MatrixStructure lower = M::getBlock(
      2, 2, {M::getDiagonal(3), M::getZero(3, 3), M::getDense(3, 3), M::getDiagonal(3)});
  EXPECT_EQ(multiply(lower, lower).getName(), "block");
  EXPECT_EQ(multiply(lower, lower).getNumNonzeros(), lower.getNumNonzeros());
  EXPECT_EQ(multiply(M::getDiagonal(6), lower).getNumNonzeros(), lower.getNumNonzeros());
  EXPECT_EQ(multiply(lower, M::getDense(6, 1)).getName(), "dense");
  EXPECT_EQ(multiply(M::getZero(4, 6), lower).getName(), "zero");
  EXPECT_EQ(multiply(M::getDiagonal(6), M::getDiagonal(6)).getName(), "diagonal");
}

TEST(MatrixStructureTest, PatternsThatSayLessAreSimpler) {
  using M = MatrixStructure;
  EXPECT_EQ(M::getSparse(SparsityPattern::getDense(2, 3)).getName(), "dense");
  EXPECT_EQ(M::getSparse(SparsityPattern::getZero(2, 3)).getName(), "zero");
  EXPECT_EQ(M::getSparse(SparsityPattern::getIdentity(3)).getName(), "diagonal");
  M sparse = M::getSparse(SparsityPattern::fromEntries(2, 3, {{0, 1}, {1, 2}}));
  EXPECT_EQ(sparse.getName(), "csr");
  EXPECT_EQ(sparse.getNumBytes(4), 2 * 4);
  EXPECT_EQ(sparse.getNumIndexBytes(), (2 + 3) * 4);
}

TEST(MatrixStructureTest, OnlyProductsOfSharedMatricesAreShared) {
  MatrixStructure dense = MatrixStructure::getDense(6, 6);
  MatrixStructure shared = dense.withShared(true);
  EXPECT_EQ(multiply(shared, shared).getName(), "shared-dense");
  EXPECT_EQ(multiply(shared, dense).getName(), "dense");
  EXPECT_EQ(multiply(shared, MatrixStructure::getIdentity(6)).getName(), "shared-dense");
}

TEST(MatrixStructureTest, PicturesShowEveryCellThatIsNotEmpty) {
  std::vector<std::string> picture = MatrixStructure::getDiagonal(1000).sample(4);
  EXPECT_EQ(picture, (std::vector<std::string>{"1000", "0100", "0010", "0001"}));
  EXPECT_EQ(MatrixStructure::getDense(3, 2).sample(8),
            (std::vector<std::string>{"99", "99", "99"}));
}

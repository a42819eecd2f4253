//===- MatrixStructureTest.cpp - structures as 0/1 matrices ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace bppsa;
using Kind = jacobian::StructureKind;

namespace {
/// A matrix with ones at possible nonzeros.
using Mask = std::vector<std::vector<int64_t>>;

struct Example {
  MatrixStructure structure;
  Mask mask;
};

class MatrixStructures : public ::testing::Test {
protected:
  MatrixStructures() { context.loadDialect<BPPSADialect>(); }

  jacobian::StructureAttr get(Kind kind) { return jacobian::StructureAttr::get(&context, kind); }
  jacobian::StructureAttr getCSR(SparsityPattern pattern) {
    return jacobian::StructureAttr::getCSR(
        jacobian::PatternAttr::get(&context, std::move(pattern)));
  }
  MatrixStructure make(jacobian::StructureAttr structure) {
    return MatrixStructure(structure, 6, 6);
  }
  MatrixStructure make(Kind kind) { return make(get(kind)); }
  std::vector<Example> makeExamples();

  mlir::MLIRContext context;
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

/// Returns square matrices of size 6, including grids with different block sizes.
std::vector<Example> MatrixStructures::makeExamples() {
  auto isDiagonal = [](int64_t i, int64_t j) { return i == j; };
  auto isAny = [](int64_t, int64_t) { return true; };
  auto isBlock = [](int64_t i, int64_t j) { return i / 2 == j / 2; };
  std::vector<Example> examples = {
      {make(Kind::Zero), makeMask(6, 6, [](int64_t, int64_t) { return false; })},
      {make(Kind::Identity), makeMask(6, 6, isDiagonal)},
      {make(Kind::Diagonal), makeMask(6, 6, isDiagonal)},
      {make(jacobian::StructureAttr::getBlockDiagonal(3, get(Kind::Diagonal))),
       makeMask(6, 6, isDiagonal)},
      // Like an LSTM: the diagonal block is the Jacobian of the cell state with respect to itself.
      {make(jacobian::StructureAttr::getBlocks(
           {3, 3}, {3, 3},
           {get(Kind::RowScaled), get(Kind::Dense), get(Kind::Zero), get(Kind::Diagonal)})),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i < 3 || i == j; })},
      {make(jacobian::StructureAttr::getBlocks(
           {3, 3}, {3, 3}, {get(Kind::Dense), get(Kind::Zero), get(Kind::Zero), get(Kind::Dense)})),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i / 3 == j / 3; })},
      {make(jacobian::StructureAttr::getBlocks(
           {2, 4}, {2, 4},
           {get(Kind::Identity), get(Kind::Zero), get(Kind::Zero), get(Kind::Dense)})),
       makeMask(6, 6, [](int64_t i, int64_t j) { return i < 2 ? i == j : j >= 2; })},
      {make(jacobian::StructureAttr::getBlocks({6}, {3, 3}, {get(Kind::Zero), get(Kind::Dense)})),
       makeMask(6, 6, [](int64_t, int64_t j) { return j >= 3; })},
      {make(getCSR(SparsityPattern::fromEntries(6, 6, {{0, 5}, {2, 1}, {2, 2}, {5, 0}}))),
       makeMask(6, 6,
                [](int64_t i, int64_t j) {
                  return (i == 0 && j == 5) || (i == 2 && (j == 1 || j == 2)) || (i == 5 && j == 0);
                })},
      {make(getCSR(SparsityPattern::getBlockDiagonal(SparsityPattern::getDense(2, 2), 3))),
       makeMask(6, 6, isBlock)},
      {make(jacobian::StructureAttr::getBlockDiagonal(3, get(Kind::SharedDense))),
       makeMask(6, 6, isBlock)},
      {make(jacobian::StructureAttr::getBlockDiagonal(
           2, getCSR(SparsityPattern::fromEntries(3, 3, {{0, 2}, {1, 0}, {1, 1}})))),
       makeMask(6, 6,
                [](int64_t i, int64_t j) {
                  return i / 3 == j / 3 && (i % 3 == 0 ? j % 3 == 2 : i % 3 == 1 && j % 3 < 2);
                })},
      {make(jacobian::StructureAttr::get(&context, Kind::Sum, 0, {}, {}, {},
                                         {get(Kind::Diagonal), get(Kind::ColumnScaled)})),
       makeMask(6, 6, isAny)},
  };
  for (Kind kind : {Kind::Dense, Kind::SharedDense, Kind::RowScaled, Kind::ColumnScaled})
    examples.push_back({make(kind), makeMask(6, 6, isAny)});
  return examples;
}

TEST_F(MatrixStructures, CountsAreThoseOfTheMask) {
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

TEST_F(MatrixStructures, ProductsHaveTheNonzerosAndCountEveryPair) {
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
      auto is = [&](Kind kind) {
        return second.structure.getStructure().is(kind) || first.structure.getStructure().is(kind);
      };
      std::string names = second.structure.getName() + " * " + first.structure.getName();
      // A multiplication and an addition per pair; a diagonal only multiplies.
      int64_t flops = is(Kind::Identity) ? 0 : is(Kind::Diagonal) ? pairs : 2 * pairs;
      EXPECT_EQ(countFlops(second.structure, first.structure), flops) << names;
      std::vector<std::string> picture = multiply(second.structure, first.structure).sample(6);
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t j = 0; j < 6; ++j)
          EXPECT_EQ(product[i][j] * 9, picture[i][j] - '0') << names << " at " << i << ", " << j;
    }
}

TEST_F(MatrixStructures, ProductsAreThoseOfTheProductTable) {
  for (const Example &second : makeExamples())
    for (const Example &first : makeExamples()) {
      jacobian::StructureAttr product = jacobian::StructureAttr::product(
          second.structure.getStructure(), first.structure.getStructure(), 6, 6, 6);
      EXPECT_EQ(multiply(second.structure, first.structure).getStructure(), product)
          << second.structure.getName() << " * " << first.structure.getName();
    }
}

TEST_F(MatrixStructures, ProductsOfGridsAreGrids) {
  MatrixStructure lower = make(jacobian::StructureAttr::getBlocks(
      {3, 3}, {3, 3},
      {get(Kind::Diagonal), get(Kind::Zero), get(Kind::Dense), get(Kind::Diagonal)}));
  EXPECT_EQ(multiply(lower, lower).getName(), "block");
  EXPECT_EQ(multiply(lower, lower).getNumNonzeros(), lower.getNumNonzeros());
  EXPECT_EQ(multiply(make(Kind::Diagonal), lower).getNumNonzeros(), lower.getNumNonzeros());
  EXPECT_EQ(multiply(lower, MatrixStructure::getDense(&context, 6, 1)).getName(), "dense");
  EXPECT_EQ(multiply(MatrixStructure(get(Kind::Zero), 4, 6), lower).getName(), "zero");
  EXPECT_EQ(multiply(make(Kind::Diagonal), make(Kind::Diagonal)).getName(), "diagonal");
}

TEST_F(MatrixStructures, StructuresThatSayLessAreSimpler) {
  auto getName = [&](jacobian::StructureAttr structure, int64_t rows, int64_t cols) {
    return MatrixStructure(structure, rows, cols).getName();
  };
  EXPECT_EQ(getName(getCSR(SparsityPattern::getDense(2, 3)), 2, 3), "dense");
  EXPECT_EQ(getName(getCSR(SparsityPattern::getZero(2, 3)), 2, 3), "zero");
  EXPECT_EQ(getName(getCSR(SparsityPattern::getIdentity(3)), 3, 3), "diagonal");
  EXPECT_EQ(getName(jacobian::StructureAttr::getBlocks({1, 1}, {2, 2},
                                                       {get(Kind::RowScaled), get(Kind::Dense),
                                                        get(Kind::SharedDense), get(Kind::Dense)}),
                    2, 4),
            "dense");
}

TEST_F(MatrixStructures, BytesOfValuesAndIndices) {
  MatrixStructure sparse(getCSR(SparsityPattern::fromEntries(2, 3, {{0, 1}, {1, 2}})), 2, 3);
  EXPECT_EQ(sparse.getName(), "csr");
  EXPECT_EQ(sparse.getNumBytes(4), 2 * 4);
  EXPECT_EQ(sparse.getNumIndexBytes(), (2 + 3) * 4);
  // Equal blocks are stored separately.
  MatrixStructure blocks =
      make(jacobian::StructureAttr::getBlockDiagonal(3, get(Kind::SharedDense)));
  EXPECT_EQ(blocks.getName(), "csr");
  EXPECT_EQ(blocks.getNumBytes(4), 3 * 4 * 4);
  EXPECT_EQ(blocks.getNumIndexBytes(), (12 + 7) * 4);
  // In a grid, identities are not stored and only patterns have indices.
  MatrixStructure grid(
      jacobian::StructureAttr::getBlocks(
          {2, 2}, {2, 3},
          {get(Kind::Identity), get(Kind::Dense), get(Kind::Diagonal), sparse.getStructure()}),
      4, 5);
  EXPECT_EQ(grid.getName(), "block");
  EXPECT_EQ(grid.getNumBytes(4), (6 + 2 + 2) * 4);
  EXPECT_EQ(grid.getNumIndexBytes(), (2 + 3) * 4);
}

TEST_F(MatrixStructures, OnlyProductsOfSharedMatricesAreShared) {
  MatrixStructure dense = make(Kind::Dense), shared = dense.withShared(true);
  EXPECT_EQ(multiply(shared, shared).getName(), "shared-dense");
  EXPECT_EQ(multiply(shared, dense).getName(), "dense");
  EXPECT_EQ(multiply(shared, make(Kind::Identity)).getName(), "shared-dense");
  // Each sample scales the shared matrix.
  EXPECT_EQ(multiply(make(Kind::Diagonal), shared).getName(), "dense");
}

TEST_F(MatrixStructures, PicturesShowEveryCellThatIsNotEmpty) {
  std::vector<std::string> picture = MatrixStructure(get(Kind::Diagonal), 1000, 1000).sample(4);
  EXPECT_EQ(picture, (std::vector<std::string>{"1000", "0100", "0010", "0001"}));
  EXPECT_EQ(MatrixStructure::getDense(&context, 3, 2).sample(8),
            (std::vector<std::string>{"99", "99", "99"}));
  // Blocks that overlap several cells.
  MatrixStructure blocks(jacobian::StructureAttr::getBlockDiagonal(3, get(Kind::Dense)), 12, 12);
  EXPECT_EQ(blocks.sample(2), (std::vector<std::string>{"51", "15"}));
}

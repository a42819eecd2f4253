//===- PaperTest.cpp - counts of the BPPSA paper --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expected values are from Table 1 of "BPPSA: Scaling Back-propagation by Parallel Scan Algorithm"
// (MLSys 2020) and from the counts of its published code for VGG-11 on 32 x 32 images.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"
#include "gtest/gtest.h"

using namespace bppsa;
using namespace bppsa::test;

class Paper : public ::testing::Test {
protected:
  mlir::MLIRContext context;
};

TEST_F(Paper, TableOne) {
  EXPECT_NEAR(getConv3(&context, 3, 64, 32).getZeroFraction(), 0.991573, 5e-7);
  EXPECT_NEAR(getRelu(&context, 64, 32).getZeroFraction(), 0.9999847, 5e-8);
  EXPECT_NEAR(getPool2(&context, 64, 32).getZeroFraction(), 0.9999390, 5e-8);
}

TEST_F(Paper, ZeroFractionsOfVGG11) {
  const double expected[] = {0.992, 0.968, 0.882, 0.882, 0.609, 0.609, 0, 0};
  for (auto [layer, fraction] : llvm::zip_equal(vgg11, expected))
    EXPECT_NEAR(getConv3(&context, layer.in, layer.out, layer.size).getZeroFraction(), fraction,
                5e-4);
}

/// The published code counts dense back-propagation through VGG-11 as 2 nnz for convolutions and
/// the linear layer, rows + nnz for ReLU, and rows + columns for pools: 2.29e8 in 22 steps, at most
/// 6.34e7 per step.
TEST_F(Paper, WorkOfDenseBackPropagationThroughVGG11) {
  int64_t total = 0, largest = 0, steps = 0;
  auto count = [&](int64_t work) {
    total += work;
    largest = std::max(largest, work);
    ++steps;
  };
  for (const Convolution &layer : vgg11) {
    count(2 * getConv3(&context, layer.in, layer.out, layer.size).getNumEntries());
    SparsityPattern relu = getRelu(&context, layer.out, layer.size);
    count(relu.getNumRows() + relu.getNumEntries());
    if (!layer.isPooled)
      continue;
    SparsityPattern pool = getPool2(&context, layer.out, layer.size);
    count(pool.getNumRows() + pool.getNumCols());
  }
  count(2 * getPattern(makeGemm(&context, 512, 10)).getNumEntries());
  EXPECT_EQ(steps, 22);
  EXPECT_NEAR(total, 2.29e8, 0.005e8);
  EXPECT_NEAR(largest, 6.34e7, 0.005e7);
}

/// The work of one time step of an RNN with 20 hidden units: 2 H^3 for a product of two Jacobians,
/// 2 H^2 for a product with a vector, and H for a diagonal.
TEST_F(Paper, WorkOfRecurrentChains) {
  SparsityPattern weights = SparsityPattern::getDense(20, 20),
                  slopes = SparsityPattern::getIdentity(20);
  EXPECT_EQ(2 * countMultiplyAdds(weights, weights), 16000);
  SparsityPattern step = multiply(weights, slopes).pattern;
  EXPECT_TRUE(step.isDense());
  EXPECT_EQ(2 * step.getNumEntries() + slopes.getNumEntries(), 820);
}

/// The products of neighbours in the dense chain take up to 4e10 multiply-adds and are planned
/// without enumerating them.
TEST_F(Paper, ProductsOfTheWholeChain) {
  SparsityPattern product = getConv3(&context, 3, 64, 32);
  for (size_t i = 0; i < std::size(vgg11); ++i) {
    const Convolution &layer = vgg11[i];
    if (i > 0)
      product = multiply(product, getConv3(&context, layer.in, layer.out, layer.size)).pattern;
    product = multiply(product, getRelu(&context, layer.out, layer.size)).pattern;
    if (layer.isPooled)
      product = multiply(product, getPool2(&context, layer.out, layer.size)).pattern;
  }
  product = multiply(product, getPattern(makeGemm(&context, 512, 10))).pattern;
  EXPECT_EQ(product.getNumRows(), 3072);
  EXPECT_EQ(product.getNumCols(), 10);
  EXPECT_TRUE(product.isDense());
}

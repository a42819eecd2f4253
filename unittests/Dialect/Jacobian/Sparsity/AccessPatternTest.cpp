//===- AccessPatternTest.cpp - Jacobian patterns from affine maps ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include "Dense.h"
#include "Layers.h"
#include "gtest/gtest.h"

using namespace bppsa;
using namespace bppsa::test;
using namespace mlir;

namespace {
/// Compares patterns to an enumeration of all points of the nest.
class AccessPattern : public ::testing::Test {
protected:
  MLIRContext context;

  static int64_t getElement(const LoopNest &nest, const ArrayAccess &access,
                            ArrayRef<int64_t> point) {
    int64_t element = 0;
    SmallVector<int64_t> index = access.map.compose(point);
    for (auto [expr, value, size] : llvm::zip(access.map.getResults(), index, access.shape))
      if (!nest.sampleLoop || !expr.isFunctionOfDim(*nest.sampleLoop))
        element = element * size + value;
    return element;
  }

  static int64_t countElements(const LoopNest &nest, const ArrayAccess &access) {
    int64_t count = 1;
    for (auto [expr, size] : llvm::zip(access.map.getResults(), access.shape))
      if (!nest.sampleLoop || !expr.isFunctionOfDim(*nest.sampleLoop))
        count *= size;
    return count;
  }

  static void forEachPoint(const LoopNest &nest,
                           llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
    SmallVector<int64_t> extents = nest.extents;
    if (nest.sampleLoop)
      extents[*nest.sampleLoop] = 1;
    int64_t total = 1;
    for (int64_t extent : extents)
      total *= extent;
    for (int64_t number = 0; number < total; ++number) {
      SmallVector<int64_t> point(extents.size());
      int64_t rest = number;
      for (size_t loop = extents.size(); loop-- > 0; rest /= extents[loop])
        point[loop] = rest % extents[loop];
      visit(point);
    }
  }

  /// Checks the pattern against the enumeration.
  static void check(const Layer &layer) {
    Dense expected(countElements(layer.nest, layer.operand),
                   countElements(layer.nest, layer.result));
    forEachPoint(layer.nest, [&](ArrayRef<int64_t> point) {
      expected(getElement(layer.nest, layer.operand, point),
               getElement(layer.nest, layer.result, point)) = 1;
    });
    EXPECT_EQ(toDense(getPattern(layer)), expected);
  }
};
} // namespace

static Window makeWindow(std::mt19937 &random) {
  Window window;
  window.kernel = 1 + random() % 3;
  window.stride = 1 + random() % 3;
  window.dilation = 1 + random() % 2;
  window.before = random() % 3;
  window.after = random() % 3;
  window.size = window.dilation * (window.kernel - 1) + 1 + random() % 4;
  return window;
}

TEST_F(AccessPattern, ConvolutionsWithAnyAttributes) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    Window y = makeWindow(random), x = makeWindow(random);
    check(makeConv(&context, 1 + random() % 2, 1 + random() % 3, 1 + random() % 3, y, x));
  }
}

TEST_F(AccessPattern, PoolsWithOverlap) {
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i)
    check(makePool(&context, 1 + random() % 3, makeWindow(random), makeWindow(random)));
}

TEST_F(AccessPattern, LayersWithoutWindows) {
  check(makeElementwise(&context, {3, 4, 5}));
  check(makeGemm(&context, 6, 4));
  EXPECT_TRUE(getRelu(&context, 3, 4).isIdentity());
  EXPECT_TRUE(getPattern(makeGemm(&context, 6, 4)).isDense());
}

TEST_F(AccessPattern, IndicesThatAreNotLinear) {
  // The diagonal of a matrix, every second element, and a constant index.
  AffineExpr i = getAffineDimExpr(0, &context), zero = getAffineConstantExpr(0, &context);
  Layer layer;
  layer.nest = {{6}, std::nullopt};
  layer.operand = {AffineMap::get(1, 0, {i.floorDiv(2), zero, i % 2}, &context), {3, 2, 2}};
  layer.result = {AffineMap::get(1, 0, {i, i}, &context), {6, 6}};
  check(layer);
}

TEST_F(AccessPattern, BroadcastsAndReductions) {
  // y[n, a, b] from x[n, b]; y[n, a] from x[n, a, b].
  AffineExpr n, a, b;
  bindDims(&context, n, a, b);
  Layer layer;
  layer.nest = {{-1, 3, 4}, 0};
  layer.operand = {AffineMap::get(3, 0, {n, b}, &context), {-1, 4}};
  layer.result = {AffineMap::get(3, 0, {n, a, b}, &context), {-1, 3, 4}};
  check(layer);
  std::swap(layer.operand, layer.result);
  check(layer);
}

TEST_F(AccessPattern, SamplesThatMixAreRefused) {
  // A sum over samples, and samples that are not a separate dimension.
  AffineExpr n, a;
  bindDims(&context, n, a);
  LoopNest nest{{5, 3}, 0};
  ArrayAccess operand = {AffineMap::get(2, 0, {n, a}, &context), {5, 3}};
  ArrayAccess sum = {AffineMap::get(2, 0, a), {3}};
  ArrayAccess flat = {AffineMap::get(2, 0, n * 3 + a), {15}};
  EXPECT_FALSE(getAccessPattern(nest, operand, sum));
  EXPECT_FALSE(getAccessPattern(nest, operand, flat));
  nest.sampleLoop = std::nullopt;
  EXPECT_TRUE(getAccessPattern(nest, operand, sum));
  EXPECT_TRUE(getAccessPattern(nest, operand, flat)->isIdentity());
}

TEST_F(AccessPattern, IndicesOutsideTheArrayAreRefused) {
  AffineExpr i = getAffineDimExpr(0, &context);
  LoopNest nest{{4}, std::nullopt};
  ArrayAccess operand = {AffineMap::get(1, 0, i + 1), {4}};
  ArrayAccess result = {AffineMap::get(1, 0, i), {4}};
  EXPECT_FALSE(getAccessPattern(nest, operand, result));
}

TEST_F(AccessPattern, EmptyNestsRelateNothing) {
  Layer layer = makeGemm(&context, 6, 4);
  layer.nest.extents[2] = 0;
  EXPECT_TRUE(getPattern(layer).isZero());
}

/// With some weights zero, exactly the entries of the other weights remain, each with the index of
/// its weight.
TEST_F(AccessPattern, PrunedConvolutions) {
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    Layer layer = makeConv(&context, 1 + random() % 2, 1 + random() % 3, 1 + random() % 3,
                           makeWindow(random), makeWindow(random));
    std::vector<bool> mask(countElements(layer.nest, layer.factor));
    for (size_t j = 0; j < mask.size(); ++j)
      mask[j] = random() % 2;
    Dense expected(countElements(layer.nest, layer.operand),
                   countElements(layer.nest, layer.result));
    forEachPoint(layer.nest, [&](ArrayRef<int64_t> point) {
      int64_t source = getElement(layer.nest, layer.factor, point);
      if (mask[source])
        expected(getElement(layer.nest, layer.operand, point),
                 getElement(layer.nest, layer.result, point)) = source + 1;
    });
    SharedValues found = *getPrunedValues(layer.nest, layer.operand, layer.result, layer.factor,
                                          [&](int64_t source) { return mask[source]; });
    SharedValues unpruned = *getPrunedValues(layer.nest, layer.operand, layer.result, layer.factor,
                                             [](int64_t) { return true; });
    SharedValues all = *getSharedValues(layer.nest, layer.operand, layer.result, layer.factor);
    EXPECT_EQ(all.pattern, unpruned.pattern);
    EXPECT_EQ(all.sources, unpruned.sources);
    Dense actual(expected.rows, expected.cols);
    for (int64_t row = 0; row < actual.rows; ++row)
      for (auto [j, col] : llvm::enumerate(found.pattern.getRow(row)))
        actual(row, col) = found.sources[found.pattern.getRowStart(row) + j] + 1;
    EXPECT_EQ(actual, expected);
  }
}

TEST_F(AccessPattern, EntriesWithSeveralSourcesAreRefused) {
  // x[i] * w[k] summed over k: every entry is a sum of weights.
  AffineExpr i, k;
  bindDims(&context, i, k);
  LoopNest nest{{3, 2}, std::nullopt};
  ArrayAccess operand = {AffineMap::get(2, 0, i), {3}}, factor = {AffineMap::get(2, 0, k), {2}};
  EXPECT_FALSE(getSharedValues(nest, operand, operand, factor));
  EXPECT_FALSE(getPrunedValues(nest, operand, operand, factor, [](int64_t) { return true; }));
}

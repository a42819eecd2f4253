//===- ShapeExpressionsTest.cpp - arithmetic on sizes ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ShapeExpressions.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace bppsa;

namespace {
class ShapeExpressions : public testing::Test {
protected:
  AffineExpr number(int64_t value) { return getAffineConstantExpr(value, &context); }

  MLIRContext context;
  AffineExpr t = getAffineSymbolExpr(0, &context), b = getAffineSymbolExpr(1, &context);
};
} // namespace

TEST_F(ShapeExpressions, EqualSumsAreTheSameExpression) {
  EXPECT_EQ(*addExprs(t, b), *addExprs(b, t));
  EXPECT_EQ(*multiplyExprs(*addExprs(t, number(1)), b), *addExprs(*multiplyExprs(b, t), b));
  EXPECT_EQ(*subtractExprs(*addExprs(t, number(1)), number(1)), t);
}

TEST_F(ShapeExpressions, ProductsDivideOut) {
  AffineExpr product = *multiplyExprs(*multiplyExprs(t, b), number(20));
  EXPECT_EQ(*divideExactly(product, *multiplyExprs(b, number(5))), *multiplyExprs(t, number(4)));
  EXPECT_FALSE(divideExactly(t, number(2)));
  EXPECT_FALSE(divideExactly(t, number(0)));
  EXPECT_EQ(*divideExprs(t, number(2)), t.floorDiv(2));
}

TEST_F(ShapeExpressions, IntegersRoundTowardsZero) {
  EXPECT_EQ(*divideExprs(number(-7), number(2)), number(-3));
  EXPECT_EQ(*remainderExprs(number(-7), number(2)), number(-1));
  EXPECT_FALSE(divideExprs(*subtractExprs(t, number(5)), number(2)));
  EXPECT_FALSE(divideExprs(t, *subtractExprs(b, number(1))));
}

TEST_F(ShapeExpressions, SymbolsMayBeLarger) {
  EXPECT_TRUE(isAtLeast(*subtractExprs(t, number(5)), number(0), {5}));
  EXPECT_FALSE(isAtLeast(*subtractExprs(t, number(5)), number(0), {4}));
  EXPECT_TRUE(divideExprs(*subtractExprs(t, number(5)), number(2), {5}));
}

TEST_F(ShapeExpressions, InequalitiesOfOneSymbolAreSolved) {
  EXPECT_EQ(solveAtLeast(*multiplyExprs(t, number(2)), number(5))->value, 3);
  EXPECT_EQ(solveAtLeast(b, number(5))->symbol, 1u);
  EXPECT_FALSE(solveAtLeast(number(5), t));
  EXPECT_FALSE(solveAtLeast(t, b));
  EXPECT_FALSE(solveAtLeast(number(3), number(5)));
}

TEST_F(ShapeExpressions, SymbolsAreAtLeastOne) {
  EXPECT_TRUE(isAtLeast(t, number(1)));
  EXPECT_FALSE(isAtLeast(t, number(2)));
  EXPECT_FALSE(isAtLeast(t, b));
  EXPECT_TRUE(isAtLeast(*multiplyExprs(t, b), t));
  EXPECT_EQ(getLowerBound(*subtractExprs(*multiplyExprs(t, number(3)), number(1))), 2);
  EXPECT_EQ(getLowerBound(*subtractExprs(number(1), t)), std::nullopt);
}

TEST_F(ShapeExpressions, EqualitiesBindSymbols) {
  auto later = solveEquality(*multiplyExprs(t, number(2)), *multiplyExprs(b, number(2)));
  ASSERT_TRUE(later);
  EXPECT_EQ(later->symbol, 1u);
  EXPECT_EQ(later->value, t);
  auto constant = solveEquality(*subtractExprs(t, number(1)), number(4));
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->symbol, 0u);
  EXPECT_EQ(constant->value, number(5));
  auto common = solveEquality(*multiplyExprs(t, *multiplyExprs(b, number(16))),
                              *multiplyExprs(b, number(320)));
  ASSERT_TRUE(common);
  EXPECT_EQ(common->value, number(20));
  EXPECT_FALSE(solveEquality(*multiplyExprs(t, b), number(6)));
  EXPECT_FALSE(solveEquality(t, number(0)));
  EXPECT_FALSE(solveEquality(number(2), number(3)));
  EXPECT_FALSE(solveEquality(*multiplyExprs(t, number(2)), number(3)));
}

TEST_F(ShapeExpressions, OverflowHasNoResult) {
  AffineExpr large = number(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(addExprs(large, number(1)));
  EXPECT_FALSE(multiplyExprs(large, number(2)));
  EXPECT_FALSE(divideExprs(number(1), number(0)));
}

//===- ShapeExpressions.cpp - sizes as expressions of symbols -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ShapeExpressions.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>

using namespace mlir;
using namespace bppsa;

namespace {
/// Orders atoms: symbols, and quotients or remainders that do not cancel.
struct AtomLess {
  bool operator()(AffineExpr a, AffineExpr b) const { return compare(a, b) < 0; }

  /// A structural order; an order by pointer would differ between runs.
  static int compare(AffineExpr a, AffineExpr b) {
    if (a == b)
      return 0;
    if (a.getKind() != b.getKind())
      return a.getKind() > b.getKind() ? -1 : 1; // symbols first
    if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
      return symbol.getPosition() < cast<AffineSymbolExpr>(b).getPosition() ? -1 : 1;
    if (auto constant = dyn_cast<AffineConstantExpr>(a))
      return constant.getValue() < cast<AffineConstantExpr>(b).getValue() ? -1 : 1;
    auto left = cast<AffineBinaryOpExpr>(a), right = cast<AffineBinaryOpExpr>(b);
    if (int order = compare(left.getLHS(), right.getLHS()))
      return order;
    return compare(left.getRHS(), right.getRHS());
  }
};

/// A product of atoms, sorted.
using Monomial = SmallVector<AffineExpr, 2>;

struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), AtomLess());
  }
};

using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

/// Larger expressions occur only in malicious files.
constexpr size_t kMaxTerms = 64, kMaxFactors = 16;
constexpr unsigned kMaxNesting = 8;
} // namespace

static bool addTerm(Polynomial &polynomial, const Monomial &monomial, int64_t coefficient) {
  int64_t &sum = polynomial[monomial];
  if (llvm::AddOverflow(sum, coefficient, sum))
    return false;
  if (sum == 0)
    polynomial.erase(monomial);
  return polynomial.size() <= kMaxTerms && monomial.size() <= kMaxFactors;
}

static std::optional<Polynomial> addPolynomials(Polynomial a, const Polynomial &b) {
  for (auto &[monomial, coefficient] : b)
    if (!addTerm(a, monomial, coefficient))
      return std::nullopt;
  return a;
}

static std::optional<Polynomial> multiplyPolynomials(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (auto &[left, leftCoefficient] : a)
    for (auto &[right, rightCoefficient] : b) {
      int64_t coefficient;
      Monomial monomial(left);
      monomial.append(right.begin(), right.end());
      llvm::sort(monomial, AtomLess());
      if (llvm::MulOverflow(leftCoefficient, rightCoefficient, coefficient) ||
          !addTerm(result, monomial, coefficient))
        return std::nullopt;
    }
  return result;
}

static std::optional<Polynomial> toPolynomial(AffineExpr expr) {
  Polynomial result;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    addTerm(result, {}, constant.getValue());
    return result;
  }
  if (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul) {
    addTerm(result, {expr}, 1);
    return result;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Polynomial> left = toPolynomial(binary.getLHS());
  std::optional<Polynomial> right = toPolynomial(binary.getRHS());
  if (!left || !right)
    return std::nullopt;
  return expr.getKind() == AffineExprKind::Add ? addPolynomials(*left, *right)
                                               : multiplyPolynomials(*left, *right);
}

static AffineExpr toExpr(const Polynomial &polynomial, MLIRContext *context) {
  AffineExpr sum;
  // The constant term sorts first but is printed last.
  for (auto &[monomial, coefficient] : llvm::reverse(polynomial)) {
    AffineExpr product;
    for (AffineExpr atom : monomial)
      product = product ? product * atom : atom;
    product = product ? product * coefficient : getAffineConstantExpr(coefficient, context);
    sum = sum ? sum + product : product;
  }
  return sum ? sum : getAffineConstantExpr(0, context);
}

template <typename Combine>
static MaybeExpr combineExprs(AffineExpr a, AffineExpr b, Combine combine) {
  std::optional<Polynomial> left = toPolynomial(a), right = toPolynomial(b);
  if (!left || !right)
    return std::nullopt;
  std::optional<Polynomial> result = combine(*left, *right);
  if (!result)
    return std::nullopt;
  return toExpr(*result, a.getContext());
}

std::optional<int64_t> bppsa::getConstant(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

MaybeExpr bppsa::addExprs(AffineExpr a, AffineExpr b) {
  return combineExprs(a, b, [](const Polynomial &left, const Polynomial &right) {
    return addPolynomials(left, right);
  });
}

MaybeExpr bppsa::multiplyExprs(AffineExpr a, AffineExpr b) {
  return combineExprs(a, b, multiplyPolynomials);
}

MaybeExpr bppsa::subtractExprs(AffineExpr a, AffineExpr b) {
  MaybeExpr negated = multiplyExprs(b, getAffineConstantExpr(-1, b.getContext()));
  return negated ? addExprs(a, *negated) : std::nullopt;
}

MaybeExpr bppsa::multiplyAll(ArrayRef<AffineExpr> sizes, MLIRContext *context) {
  MaybeExpr product = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    if (product)
      product = multiplyExprs(*product, size);
  return product;
}

static std::optional<Polynomial> divideByTerm(const Polynomial &a, const Monomial &divisor,
                                              int64_t coefficient) {
  Polynomial result;
  for (auto &[monomial, dividend] : a) {
    Monomial quotient;
    if (!std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(),
                       AtomLess()) ||
        coefficient == 0 || coefficient == -1 || dividend % coefficient != 0)
      return std::nullopt;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(quotient), AtomLess());
    addTerm(result, quotient, dividend / coefficient);
  }
  return result;
}

MaybeExpr bppsa::divideExactly(AffineExpr a, AffineExpr b) {
  if (a == b && getConstant(b) != 0)
    return getAffineConstantExpr(1, a.getContext());
  return combineExprs(
      a, b, [](const Polynomial &left, const Polynomial &right) -> std::optional<Polynomial> {
        if (right.size() != 1)
          return std::nullopt;
        return divideByTerm(left, right.begin()->first, right.begin()->second);
      });
}

static unsigned getNesting(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  bool nests = expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul;
  return std::max(getNesting(binary.getLHS()), getNesting(binary.getRHS())) + nests;
}

static bool canDivide(AffineExpr a, AffineExpr b, ArrayRef<int64_t> minSizes) {
  std::optional<int64_t> low = getLowerBound(a, minSizes), divisor = getLowerBound(b, minSizes);
  return low && *low >= 0 && divisor && *divisor >= 1 && getNesting(a) < kMaxNesting &&
         getNesting(b) < kMaxNesting;
}

MaybeExpr bppsa::divideExprs(AffineExpr a, AffineExpr b, ArrayRef<int64_t> minSizes) {
  if (MaybeExpr exact = divideExactly(a, b))
    return exact;
  if (auto left = getConstant(a), right = getConstant(b); left && right) {
    if (*right == 0 || (*right == -1 && *left == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    return getAffineConstantExpr(*left / *right, a.getContext());
  }
  return canDivide(a, b, minSizes) ? MaybeExpr(a.floorDiv(b)) : std::nullopt;
}

MaybeExpr bppsa::remainderExprs(AffineExpr a, AffineExpr b, ArrayRef<int64_t> minSizes) {
  if (auto left = getConstant(a), right = getConstant(b); left && right) {
    if (*right == 0 || *right == -1)
      return std::nullopt;
    return getAffineConstantExpr(*left % *right, a.getContext());
  }
  return canDivide(a, b, minSizes) ? MaybeExpr(a % b) : std::nullopt;
}

std::optional<int64_t> bppsa::getLowerBound(AffineExpr expr, ArrayRef<int64_t> minSizes) {
  // Substitute s = min + s' with s' >= 0. If no other coefficient is negative, the constant term is
  // the minimum.
  std::optional<Polynomial> polynomial = toPolynomial(expr);
  Polynomial shifted;
  if (!polynomial)
    return std::nullopt;
  for (auto &[monomial, coefficient] : *polynomial) {
    std::optional<Polynomial> product = Polynomial{{{}, coefficient}};
    for (AffineExpr atom : monomial) {
      Polynomial factor{{{atom}, 1}};
      if (auto symbol = dyn_cast<AffineSymbolExpr>(atom))
        factor[{}] = symbol.getPosition() < minSizes.size() ? minSizes[symbol.getPosition()] : 1;
      product = product ? multiplyPolynomials(*product, factor) : std::nullopt;
    }
    std::optional<Polynomial> sum = product ? addPolynomials(shifted, *product) : std::nullopt;
    if (!sum)
      return std::nullopt;
    shifted = *sum;
  }
  for (auto &[monomial, coefficient] : shifted)
    if (!monomial.empty() && coefficient < 0)
      return std::nullopt;
  auto constant = shifted.find({});
  return constant == shifted.end() ? 0 : constant->second;
}

bool bppsa::isAtLeast(AffineExpr a, AffineExpr b, ArrayRef<int64_t> minSizes) {
  MaybeExpr difference = subtractExprs(a, b);
  std::optional<int64_t> low = difference ? getLowerBound(*difference, minSizes) : std::nullopt;
  return low && *low >= 0;
}

std::optional<SymbolMinimum> bppsa::solveAtLeast(AffineExpr a, AffineExpr b) {
  MaybeExpr difference = subtractExprs(a, b);
  std::optional<Polynomial> polynomial = difference ? toPolynomial(*difference) : std::nullopt;
  if (!polynomial)
    return std::nullopt;
  // c * s + k >= 0; the constant term sorts first.
  int64_t constant = 0;
  if (auto found = polynomial->find({}); found != polynomial->end()) {
    constant = found->second;
    polynomial->erase(found);
  }
  if (polynomial->size() != 1)
    return std::nullopt;
  auto &[monomial, coefficient] = *polynomial->begin();
  if (monomial.size() != 1 || !isa<AffineSymbolExpr>(monomial.front()) || coefficient <= 0 ||
      constant == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  return SymbolMinimum{cast<AffineSymbolExpr>(monomial.front()).getPosition(),
                       llvm::divideCeilSigned(-constant, coefficient)};
}

/// Cancels common factors of two monomials. Factors are sizes and therefore not zero.
static void cancelFactors(Monomial &a, Monomial &b) {
  Monomial left;
  for (AffineExpr factor : a)
    if (auto it = llvm::find(b, factor); it != b.end())
      b.erase(it);
    else
      left.push_back(factor);
  a = std::move(left);
}

std::optional<SymbolBinding> bppsa::solveEquality(AffineExpr a, AffineExpr b) {
  MaybeExpr difference = subtractExprs(a, b);
  std::optional<Polynomial> polynomial = difference ? toPolynomial(*difference) : std::nullopt;
  if (!polynomial)
    return std::nullopt;
  auto asSymbol = [](const Monomial &monomial) -> std::optional<unsigned> {
    if (monomial.size() != 1 || !isa<AffineSymbolExpr>(monomial.front()))
      return std::nullopt;
    return cast<AffineSymbolExpr>(monomial.front()).getPosition();
  };
  // c * s - c * t == 0 or c * s + k == 0, times common factors.
  if (polynomial->size() != 2)
    return std::nullopt;
  Monomial first = polynomial->begin()->first, second = std::next(polynomial->begin())->first;
  int64_t firstCoefficient = polynomial->begin()->second,
          secondCoefficient = std::next(polynomial->begin())->second;
  cancelFactors(first, second);
  if (second.empty()) {
    std::swap(first, second);
    std::swap(firstCoefficient, secondCoefficient);
  }
  std::optional<unsigned> symbol = asSymbol(second), earlier = asSymbol(first);
  if (!symbol || firstCoefficient == std::numeric_limits<int64_t>::min() ||
      firstCoefficient % secondCoefficient != 0)
    return std::nullopt;
  int64_t value = -(firstCoefficient / secondCoefficient);
  if (first.empty() && value >= 1)
    return SymbolBinding{*symbol, getAffineConstantExpr(value, a.getContext())};
  if (earlier && value == 1)
    return SymbolBinding{*symbol, getAffineSymbolExpr(*earlier, a.getContext())};
  return std::nullopt;
}

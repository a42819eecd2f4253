//===- SymbolicProduct.h - products of zero patterns ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The symbolic phase of a sparse matrix product: everything about `lhs * rhs`
// that does not depend on values.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include <optional>

namespace bppsa {

/// The multiply-adds of `lhs * rhs`: the pairs of an entry (i, k) of `lhs` and
/// an entry (k, j) of `rhs`. Twice this is the number of floating-point
/// operations. Takes time in the distinct rows of both.
int64_t countMultiplyAdds(const SparsityPattern &lhs, const SparsityPattern &rhs);

struct SymbolicProduct {
  /// Where `lhs * rhs` may be nonzero.
  SparsityPattern pattern;
  int64_t multiplyAdds = 0;
};

/// `lhs` has as many columns as `rhs` has rows.
SymbolicProduct multiply(const SparsityPattern &lhs, const SparsityPattern &rhs);

/// What the numeric phase reads, laid out in the order in which it is read:
/// entry e of the product is the sum of `lhs[lhsEntries[p]] *
/// rhs[rhsEntries[p]]` over starts[e] <= p < starts[e + 1]. Summands are
/// ordered by the index that is summed over.
struct ProductSchedule {
  std::vector<int64_t> starts;
  std::vector<int32_t> lhsEntries;
  std::vector<int32_t> rhsEntries;

  int64_t getNumBytes() const;
};

/// The schedule of `lhs * rhs`, whose pattern is `product`. None where an
/// operand has 2^31 entries or the product takes more than `maxPairs`
/// multiply-adds.
std::optional<ProductSchedule> scheduleProduct(const SparsityPattern &lhs,
                                               const SparsityPattern &rhs,
                                               const SparsityPattern &product, int64_t maxPairs);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

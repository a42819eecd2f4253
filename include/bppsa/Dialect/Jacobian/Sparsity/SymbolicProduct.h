//===- SymbolicProduct.h - products of sparsity patterns --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The symbolic phase of a sparse matrix product: the parts of `lhs * rhs` that do not depend on
// values.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include <optional>

namespace bppsa {

/// Returns the number of multiply-adds of `lhs * rhs`: pairs of an entry (i, k) of `lhs` and an
/// entry (k, j) of `rhs`. One multiply-add is two floating-point operations. The run time is
/// proportional to the size of the distinct rows of both operands.
int64_t countMultiplyAdds(const SparsityPattern &lhs, const SparsityPattern &rhs);

struct SymbolicProduct {
  /// The possible nonzeros of `lhs * rhs`.
  SparsityPattern pattern;
  int64_t multiplyAdds = 0;
};

/// `lhs` must have as many columns as `rhs` has rows.
SymbolicProduct multiply(const SparsityPattern &lhs, const SparsityPattern &rhs);

/// The input of the numeric phase, laid out in the order of access. Entry e of the product is the
/// sum of `lhs[lhsEntries[p]] * rhs[rhsEntries[p]]` over starts[e] <= p < starts[e + 1]. Terms are
/// ordered by the contracted index.
struct ProductSchedule {
  std::vector<int64_t> starts;
  std::vector<int32_t> lhsEntries;
  std::vector<int32_t> rhsEntries;

  int64_t getNumBytes() const;
};

/// Returns the schedule of `lhs * rhs`, whose pattern is `product`. Returns nullopt if an operand
/// has 2^31 or more entries or the product takes more than `maxPairs` multiply-adds.
std::optional<ProductSchedule> scheduleProduct(const SparsityPattern &lhs,
                                               const SparsityPattern &rhs,
                                               const SparsityPattern &product, int64_t maxPairs);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

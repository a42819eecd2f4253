//===- SymbolicProduct.h - products of sparsity patterns --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Symbolic phase of sparse matrix products, independent of values.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include <optional>

namespace bppsa {

/// Counts pairs of entries (i, k) of `lhs` and (k, j) of `rhs`, in time proportional to the
/// distinct rows.
int64_t countMultiplyAdds(const SparsityPattern &lhs, const SparsityPattern &rhs);

struct SymbolicProduct {
  SparsityPattern pattern;
  int64_t multiplyAdds = 0;
};

/// `lhs` must have as many columns as `rhs` has rows.
SymbolicProduct multiply(const SparsityPattern &lhs, const SparsityPattern &rhs);

/// Input of the numeric phase: entry e is the sum of `lhs[lhsEntries[p]] * rhs[rhsEntries[p]]` over
/// starts[e] <= p < starts[e + 1], by contracted index.
struct ProductSchedule {
  std::vector<int64_t> starts;
  std::vector<int32_t> lhsEntries;
  std::vector<int32_t> rhsEntries;

  int64_t getNumBytes() const;
};

/// Returns the schedule of `lhs * rhs` with pattern `product`; nullopt if an operand has 2^31 or
/// more entries or the product more than `maxPairs` multiply-adds.
std::optional<ProductSchedule> scheduleProduct(const SparsityPattern &lhs,
                                               const SparsityPattern &rhs,
                                               const SparsityPattern &product, int64_t maxPairs);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_SYMBOLICPRODUCT_H

//===- LinearForm.h - links as sums of scaled matrices ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The link of a chain is linear in its cotangents. Where every path from a cotangent
// to what the link yields passes at most one product with a captured matrix, its
// transposed Jacobian is a sum of terms `diag(left) M diag(right)`: that of an RNN is
// W^T diag(d), that of a GRU with a linear reset a diagonal and three such terms. Its
// entries are then products of a few numbers, and no link has to be applied to columns.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <memory>
#include <optional>

namespace bppsa {

/// The link of a chain as a sum of terms.
struct LinearForm {
  /// The form of the link of `chain`; nothing where a value of it is no such sum
  /// and where the link is a graph.
  static std::optional<LinearForm> get(ChainOp chain);

  /// The scales of terms, yielded by a block whose arguments are those of the link without its
  /// cotangents: saved vectors, then captures. It has no other values that nothing needs.
  std::unique_ptr<mlir::Region> scales;
  /// Each has numbers of `scales` and of captures.
  llvm::SmallVector<TermAttr> terms;

  /// FLOPs of the entries of the Jacobian, given the scales: a multiplication for each scale of a
  /// term at each entry of its matrix, and an addition for each term but the first.
  int64_t countEntryFlops(llvm::ArrayRef<int64_t> stateSizes) const;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

//===- LinearForm.h - links as sums of scaled matrices ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The link of a chain is linear in its cotangents. If every path from a cotangent to a yielded
// cotangent contains at most one product with a captured matrix, the transposed Jacobian is a sum
// of terms `diag(left) M diag(right)`. For an RNN it is W^T diag(d); for a GRU with a linear reset
// it is a diagonal plus three such terms. The entries of the Jacobian are then short products that
// can be computed directly, without applying the link to columns of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <memory>
#include <optional>

namespace bppsa {

struct LinearForm {
  /// Returns the linear form of the link of `chain`. Returns nullopt if a yielded cotangent is not
  /// such a sum or if the link is a graph.
  static std::optional<LinearForm> get(ChainOp chain);

  /// Computes the scales of the terms. The region has one block, whose arguments are the saved
  /// vectors and the captures of the link. It contains no dead operations.
  std::unique_ptr<mlir::Region> scales;
  /// The terms, as indices of values that `scales` yields and of captures.
  llvm::SmallVector<TermAttr> terms;

  /// Returns the FLOPs to compute the entries of the Jacobian from the scales: one multiplication
  /// for each scale of a term and entry of its matrix, and one addition for each term but the
  /// first.
  int64_t countEntryFlops(llvm::ArrayRef<int64_t> stateSizes) const;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

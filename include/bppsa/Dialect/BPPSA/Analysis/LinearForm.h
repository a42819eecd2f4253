//===- LinearForm.h - links as sums of scaled matrices ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expresses the transposed Jacobian of a link as a sum of terms `diag(left) M diag(right)`, whose
// entries are computed directly. An RNN has one term, W^T diag(d); a GRU with linear reset has a
// diagonal and three.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <memory>
#include <optional>

namespace bppsa {

struct LinearForm {
  /// Returns nullopt if a yielded cotangent is not such a sum or the link is a graph.
  static std::optional<LinearForm> get(ChainOp chain);

  /// Computes scales from saved vectors and captures; one block without dead operations.
  std::unique_ptr<mlir::Region> scales;
  /// Indices of yielded `scales` and of captures.
  llvm::SmallVector<TermAttr> terms;

  /// Counts one FLOP per scale and matrix entry, and one per addition of a term.
  int64_t countEntryFlops(llvm::ArrayRef<int64_t> stateSizes) const;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_LINEARFORM_H

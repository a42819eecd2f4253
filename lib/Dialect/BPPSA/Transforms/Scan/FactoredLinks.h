//===- FactoredLinks.h - link matrices from factors -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

#include "ChainArrays.h"

namespace bppsa {

/// Builds the affine transitions of the links from their terms, for some rows of a chain.
class FactoredLinks {
public:
  /// Computes the scales of all steps at the insertion point. Returns nullopt if the chain has no
  /// terms or is diagonal.
  static std::optional<FactoredLinks> create(const ChainArrays &arrays, IndexRange rows);

  /// Creates the transition of the link at `step` in `into`.
  mlir::Value createTransition(mlir::Value step, mlir::Value into) const;

private:
  /// A sequence of scales. The transitions read the rows `rows`.
  struct Scale {
    mlir::Value sequence;
    IndexRange rows;
  };

  FactoredLinks(const ChainArrays &arrays, IndexRange rows) : arrays(&arrays), rows(rows) {}
  void numberMatrices();
  void createScales();

  const ChainArrays *arrays;
  IndexRange rows;
  /// The terms of the chain, with indices into `scales` and `matrices`.
  llvm::SmallVector<mlir::Attribute> terms;
  llvm::SmallVector<mlir::Value> matrices;
  llvm::SmallVector<Scale> scales;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

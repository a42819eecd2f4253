//===- FactoredLinks.h - matrices of links from their factors ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

#include "ChainArrays.h"

namespace bppsa {

/// The affine transitions of the links of some rows of a chain, made of their terms.
class FactoredLinks {
public:
  /// Computes the scales of all steps, at the insertion point. Nothing where the chain has no
  /// terms, or is a diagonal.
  static std::optional<FactoredLinks> create(const ChainArrays &arrays, IndexRange rows);

  /// The transition of the link at `step`, written into `into`.
  mlir::Value createTransition(mlir::Value step, mlir::Value into) const;

private:
  /// A sequence of scales, of which the transitions read some rows.
  struct Scale {
    mlir::Value sequence;
    IndexRange rows;
  };

  FactoredLinks(const ChainArrays &arrays, IndexRange rows) : arrays(&arrays), rows(rows) {}
  void numberMatrices();
  void createScales();

  const ChainArrays *arrays;
  IndexRange rows;
  /// Those of the chain, with numbers of `scales` and `matrices`.
  llvm::SmallVector<mlir::Attribute> terms;
  llvm::SmallVector<mlir::Value> matrices;
  llvm::SmallVector<Scale> scales;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

//===- FactoredLinks.h - link matrices from factors -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

#include "ChainArrays.h"

namespace bppsa {

/// Builds affine transitions from the terms of links.
class FactoredLinks {
public:
  /// Emits the scales of all steps. Returns nullopt if the chain has no terms or is diagonal.
  static std::optional<FactoredLinks> create(const ChainArrays &arrays, IndexRange rows);

  mlir::Value createTransition(mlir::Value step, mlir::Value into) const;

private:
  /// Transitions read the rows `rows` of the scales.
  struct Scale {
    mlir::Value sequence;
    IndexRange rows;
  };

  FactoredLinks(const ChainArrays &arrays, IndexRange rows) : arrays(&arrays), rows(rows) {}
  void numberMatrices();
  void createScales();

  const ChainArrays *arrays;
  IndexRange rows;
  /// Indices in terms refer to `scales` and `matrices`.
  llvm::SmallVector<mlir::Attribute> terms;
  llvm::SmallVector<mlir::Value> matrices;
  llvm::SmallVector<Scale> scales;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_FACTOREDLINKS_H

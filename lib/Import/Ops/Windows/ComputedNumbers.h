//===- ComputedNumbers.h - numbers that nodes compute from sizes -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_WINDOWS_COMPUTEDNUMBERS_H
#define BPPSA_LIB_IMPORT_OPS_WINDOWS_COMPUTEDNUMBERS_H

#include "../../Model/Importer.h"

namespace bppsa {

/// A number, or a multiple of a size.
struct ScaledSize {
  double factor;
  /// 1 for a number.
  mlir::AffineExpr size;

  std::optional<double> getNumber() const;
  /// Nothing where it is not known to be whole.
  MaybeExpr getExpr() const;
};

/// The elements of input `index` of `node`, which nodes before it compute from constants and sizes,
/// also as floats: casts, products, quotients, floors, and what joins and moves elements. Nothing
/// where another node does, or an initializer that is trained.
std::optional<llvm::SmallVector<ScaledSize>> evaluateNumbers(const Node &node, size_t index);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_COMPUTEDNUMBERS_H

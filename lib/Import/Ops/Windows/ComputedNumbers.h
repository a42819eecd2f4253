//===- ComputedNumbers.h - evaluate numbers made from sizes -----*- C++ -*-===//
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
  /// Returns nullopt unless the value is known to be an integer.
  MaybeExpr getExpr() const;
};

/// Evaluates input `index` of `node` if nodes compute it from constants and sizes, also in floating
/// point.
std::optional<llvm::SmallVector<ScaledSize>> evaluateNumbers(const Node &node, size_t index);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_COMPUTEDNUMBERS_H

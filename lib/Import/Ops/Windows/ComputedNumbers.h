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

/// Evaluates the elements of input `index` of `node` if earlier nodes compute them from constants
/// and sizes, also in floating point: casts, products, quotients, floors, and nodes that
/// concatenate and move elements. Returns nullopt if another op or a trained initializer is
/// involved.
std::optional<llvm::SmallVector<ScaledSize>> evaluateNumbers(const Node &node, size_t index);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_COMPUTEDNUMBERS_H

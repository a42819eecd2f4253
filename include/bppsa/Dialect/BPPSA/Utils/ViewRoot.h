//===- ViewRoot.h - root array of a view ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_VIEWROOT_H
#define BPPSA_DIALECT_BPPSA_UTILS_VIEWROOT_H

#include "mlir/Interfaces/ViewLikeInterface.h"

namespace bppsa {

/// Returns the array that `view` is a part of.
inline mlir::Value getViewRoot(mlir::Value view) {
  while (auto op = view.getDefiningOp<mlir::ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_VIEWROOT_H

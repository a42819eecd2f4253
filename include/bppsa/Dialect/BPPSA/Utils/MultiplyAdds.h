//===- MultiplyAdds.h - work of the body of a time loop ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_MULTIPLYADDS_H
#define BPPSA_DIALECT_BPPSA_UTILS_MULTIPLYADDS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Counts the multiply-adds of matrix-vector products in `body`, for one step and sample.
inline int64_t countMultiplyAdds(mlir::Block &body) {
  int64_t count = 0;
  for (auto product : body.getOps<MatVecOp>())
    count += mlir::cast<mlir::VectorType>(product.getMatrix().getType()).getNumElements();
  return count;
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_MULTIPLYADDS_H

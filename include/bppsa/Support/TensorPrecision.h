//===- TensorPrecision.h - precisions of tensor cores -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TENSORPRECISION_H
#define BPPSA_SUPPORT_TENSORPRECISION_H

#include "mlir/IR/BuiltinAttributes.h"

#include "bppsa/Support/TensorPrecision.h.inc"

namespace bppsa {

/// Returns the inner dimension of one tile product.
int64_t getTileDepth(TensorPrecision precision);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TENSORPRECISION_H

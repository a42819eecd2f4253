//===- TiledSums.h - tiled outer sums ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits kernels of consecutive outer sums mapped to `tiled_product` with one right factor. Fails
/// with a diagnostic if rows are not contiguous.
llvm::LogicalResult convertTiledSums(llvm::ArrayRef<OuterSumOp> ops);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H

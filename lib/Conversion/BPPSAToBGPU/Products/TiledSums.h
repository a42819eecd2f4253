//===- TiledSums.h - outer products over samples and steps ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits kernels with sums that are mapped to `tiled_product`, follow each other and have the same
/// right factor, in front of them. Fails after a diagnostic where their rows do not lie in one
/// piece.
llvm::LogicalResult convertTiledSums(llvm::ArrayRef<OuterSumOp> ops);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_TILEDSUMS_H

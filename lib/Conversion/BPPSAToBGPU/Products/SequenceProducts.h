//===- SequenceProducts.h - products of all steps ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits kernels with the products of sequences and matrices, for all steps at a time, in front of
/// `op`, which is mapped to `tiled_product`. Fails after a diagnostic where it has others.
llvm::LogicalResult convertSequenceProducts(RecurrenceOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H

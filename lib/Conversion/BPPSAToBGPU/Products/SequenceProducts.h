//===- SequenceProducts.h - products of all time steps ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Emits the products of all time steps before `op`, which is mapped to `tiled_product`. Fails with
/// a diagnostic if `op` computes anything else.
llvm::LogicalResult convertSequenceProducts(RecurrenceOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_PRODUCTS_SEQUENCEPRODUCTS_H

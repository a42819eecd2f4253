//===- ProductMapping.h - mapping of products on memory ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H
#define BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAProductEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAProductAttributes.h.inc"

namespace bppsa {

/// Returns the form in the `bppsa.mapping` of `op`; nullopt if `op` is not a mapped product.
std::optional<ProductForm> getProductForm(mlir::Operation *op);
void setProductForm(mlir::Operation *op, ProductForm form);

/// True if the body adds the product of its two inputs to its only output.
bool addsProducts(mlir::linalg::GenericOp op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H

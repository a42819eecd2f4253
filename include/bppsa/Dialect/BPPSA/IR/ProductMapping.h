//===- ProductMapping.h - how products on memory run ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H
#define BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H

#include "mlir/IR/Operation.h"

namespace bppsa {

/// How a convolution, one of its cotangents or a matrix product runs on a CPU: `bppsa.mapping` of
/// a `linalg.generic` that adds products.
///
/// | mapping | what runs |
/// |---|---|
/// | "direct" | one loop with neighbouring elements is the lanes of vectors, which are read where
/// they are (`bppsa-vectorize-contractions`) | | "packed_lhs", "packed_rhs" | both factors are
/// copied to panels and multiplied as matrices (`bppsa-pack-products`); the loops of the result and
/// of that factor are lanes, those of the other one rows |
enum class ProductMapping { Direct, PackedLhs, PackedRhs };

llvm::StringRef stringifyProductMapping(ProductMapping mapping);

/// What `op` is mapped to; nothing where it is no product, or not mapped.
std::optional<ProductMapping> getProductMapping(mlir::Operation *op);
void setProductMapping(mlir::Operation *op, ProductMapping mapping);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_PRODUCTMAPPING_H

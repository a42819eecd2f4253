//===- BodyRewrites.h - rewrites of bodies before lowering ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H
#define BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Fuses sums of products into products with an addend. Erases dead operations.
void fuseProductSums(mlir::Block &body);

/// Keeps `count` yielded values from `first` on. Erases dead operations.
void yieldOnly(mlir::Block &body, unsigned first, unsigned count);

/// Adds injected sequence k, a new argument at `position` + k, to the cotangent of state
/// `injectInto[k]`. Cotangents begin at argument `firstState`.
void addInjection(mlir::Block &body, llvm::ArrayRef<int64_t> injectInto, unsigned firstState,
                  unsigned position);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

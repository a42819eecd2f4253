//===- BodyRewrites.h - rewrites of bodies before lowering ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H
#define BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Fuses sums of products into products with an addend, which accumulate in registers. Erases dead
/// operations.
void fuseProductSums(mlir::Block &body);

/// Keeps only the `count` yielded values from index `first` on. Erases dead operations.
void yieldOnly(mlir::Block &body, unsigned first, unsigned count);

/// For each injected sequence k, inserts an argument at `position` + k and adds it to the cotangent
/// of state `injectInto[k]`. The cotangents are the arguments from `firstState` on.
void addInjection(mlir::Block &body, llvm::ArrayRef<int64_t> injectInto, unsigned firstState,
                  unsigned position);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

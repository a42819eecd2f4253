//===- BodyRewrites.h - bodies made ready for emission ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H
#define BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Turns sums of products into products with an addend, which accumulate in
/// registers, and erases what nothing uses.
void fuseProductSums(mlir::Block &body);

/// Yields only `count` values from `first` on, and erases what that leaves unused.
void yieldOnly(mlir::Block &body, unsigned first, unsigned count);

/// Adds an argument for each injected sequence, at `position`, and adds it to
/// the cotangent of state `injectInto[k]`; the cotangents are the arguments from
/// `firstState` on.
void addInjection(mlir::Block &body, llvm::ArrayRef<int64_t> injectInto, unsigned firstState,
                  unsigned position);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_UTILS_BODYREWRITES_H

//===- VanishingValues.h - values that vanish with cotangents ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Links are linear, so zero cotangents stay zero until an injection, and values computed from them
// add nothing to sums.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// Returns which emitted values are zero if all cotangents are zero and other arguments finite;
/// nullopt if yielded cotangents may then be nonzero.
std::optional<llvm::SmallVector<bool>> findVanishingEmitted(const CotangentLoop &loop);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

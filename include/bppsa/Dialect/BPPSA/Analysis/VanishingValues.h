//===- VanishingValues.h - values that vanish with cotangents ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A link is a linear map, so a zero cotangent stays zero until another cotangent is injected.
// Values computed from it then contribute nothing to a sum.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// Returns, for each emitted value of `loop`, whether it is zero if the cotangents of all states
/// and the injected cotangents are zero and all other arguments are finite. Returns nullopt if the
/// yielded cotangents may be nonzero in this case.
std::optional<llvm::SmallVector<bool>> findVanishingEmitted(const CotangentLoop &loop);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

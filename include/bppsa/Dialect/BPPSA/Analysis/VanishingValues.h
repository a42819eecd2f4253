//===- VanishingValues.h - what is zero where cotangents are ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A link is a linear map, so a cotangent of zero stays zero for the rest of a chain to which
// nothing is added on the way, and what is computed of it adds nothing to a sum.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// Which emitted values of `loop` are zero where the cotangents of all states and what is injected
/// are, and all other arguments of the link are finite. Nothing where the cotangents that such a
/// link yields need not be zero.
std::optional<llvm::SmallVector<bool>> findVanishingEmitted(const CotangentLoop &loop);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_VANISHINGVALUES_H

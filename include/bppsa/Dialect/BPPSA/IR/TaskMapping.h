//===- TaskMapping.h - work of one CPU thread in a time loop ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H
#define BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSATaskAttributes.h.inc"

namespace bppsa {

/// Time steps per CPU task in a loop without states.
inline constexpr int64_t kStepsPerTask = 32;

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_TASKMAPPING_H

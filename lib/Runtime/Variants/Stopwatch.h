//===- Stopwatch.h - Times of training steps ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_STOPWATCH_H
#define BPPSA_LIB_RUNTIME_VARIANTS_STOPWATCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// Medians in microseconds, and peak memory in bytes.
struct StepTimes {
  double forward = 0, backward = 0, update = 0, whole = 0;
  uint64_t bytes = 0;
};

/// Times `repeat` runs of a step and the optimizer after warm-up. Does not change the parameters.
StepTimes timeSteps(Session &session, Call &step, int64_t repeat);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_STOPWATCH_H

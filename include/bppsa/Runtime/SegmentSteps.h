//===- SegmentSteps.h - What loops keep of their steps --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_SEGMENTSTEPS_H
#define BPPSA_RUNTIME_SEGMENTSTEPS_H

#include <cstdint>

namespace bppsa::runtime {

/// What a loop over steps keeps for the backward pass, which goes segment by segment.
struct KeptSteps {
  int64_t steps, samples;
  /// Bytes of one step of one sample, and of the states among them.
  int64_t stepBytes, stateBytes;

  /// The memory for segments of `length` steps, in bytes: one segment, with the states after its
  /// last step, and the states at the start of each and at the end.
  int64_t bytes(int64_t length) const;
};

/// The steps of a segment, from 1 to all: as few segments as fit in the share of `limit` bytes that
/// this loop has among loops with `totalStepBytes` bytes of one step of one sample, of equal
/// lengths but for the last. Throws Error where none fits.
int64_t chooseSegmentSteps(const KeptSteps &kept, int64_t totalStepBytes, int64_t limit);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_SEGMENTSTEPS_H

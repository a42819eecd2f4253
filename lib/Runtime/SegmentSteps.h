//===- SegmentSteps.h - Segment lengths for recomputation -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H
#define BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H

#include <cstdint>
#include <nlohmann/json.hpp>

namespace bppsa::runtime {

struct LoopResiduals {
  int64_t steps, samples;
  /// In bytes per step and sample; `stateBytes` is included in `stepBytes`.
  int64_t stepBytes, stateBytes;

  /// Returns the bytes of one segment's residuals and of the states at all segment boundaries.
  int64_t bytes(int64_t length) const;
};

/// Returns the length of the fewest segments that fit in this loop's share of `limit` bytes.
/// `totalStepBytes` sums stepBytes over all loops. Throws Error if no length fits.
int64_t chooseSegmentSteps(const LoopResiduals &kept, int64_t totalStepBytes, int64_t limit);

/// Variant of chooseSegmentSteps() for loops in slabs of 32 steps. Returns all steps if they fit,
/// otherwise the fitting length nearest to 512 KiB of residuals (32 to 256 steps), independent of
/// the machine.
int64_t chooseRecomputedSteps(const LoopResiduals &kept, int64_t totalStepBytes, int64_t limit);

/// Records the segments of loops during its lifetime; at most one per thread.
class SegmentRecord {
public:
  SegmentRecord();
  ~SegmentRecord();
  SegmentRecord(const SegmentRecord &) = delete;
  SegmentRecord &operator=(const SegmentRecord &) = delete;

  void add(const LoopResiduals &kept, int64_t length);
  const nlohmann::ordered_json &toJson() const { return loops; }

private:
  nlohmann::ordered_json loops = nlohmann::ordered_json::array();
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H

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

/// The residuals of a time loop whose backward pass runs segment by segment.
struct LoopResiduals {
  int64_t steps, samples;
  /// Bytes per step and sample, and the part of them taken by states.
  int64_t stepBytes, stateBytes;

  /// The bytes needed with segments of `length` steps: the residuals of one segment, the states
  /// after its last step, the states at the start of each segment, and the final states.
  int64_t bytes(int64_t length) const;
};

/// Returns the segment length, from 1 to all steps, that yields the fewest segments whose memory
/// fits in this loop's share of `limit` bytes. All segments but the last have this length.
/// `totalStepBytes` is the sum of stepBytes over all loops that share the limit. Throws Error if no
/// length fits.
int64_t chooseSegmentSteps(const LoopResiduals &kept, int64_t totalStepBytes, int64_t limit);

/// Like chooseSegmentSteps(), for loops whose segments consist of slabs of 32 steps. Returns all
/// steps if they fit; otherwise the length nearest to 512 KiB of residuals (32 to 256 steps) that
/// fits. Depends only on its arguments, so a program has the same segments on every machine.
int64_t chooseRecomputedSteps(const LoopResiduals &kept, int64_t totalStepBytes, int64_t limit);

/// Records the segments of loops, in execution order, during its lifetime. At most one record may
/// exist per thread.
class SegmentRecord {
public:
  SegmentRecord();
  ~SegmentRecord();
  SegmentRecord(const SegmentRecord &) = delete;
  SegmentRecord &operator=(const SegmentRecord &) = delete;

  void add(const LoopResiduals &kept, int64_t length);
  /// For each loop: `steps`, `samples`, the length of its segments (`segment_steps`), and the
  /// `bytes` of one segment and of the states between segments.
  const nlohmann::ordered_json &toJson() const { return loops; }

private:
  nlohmann::ordered_json loops = nlohmann::ordered_json::array();
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H

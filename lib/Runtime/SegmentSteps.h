//===- SegmentSteps.h - What loops keep of their steps --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H
#define BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H

#include <cstdint>
#include <nlohmann/json.hpp>

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

/// The same for a loop whose segments are whole slabs of 32 steps, but for the last: all steps
/// where they fit, else as many as take 512 KiB, from 32 to 256, or the number nearest to that
/// which fits. Depends on nothing else, so that a program has the same segments on all machines.
int64_t chooseRecomputedSteps(const KeptSteps &kept, int64_t totalStepBytes, int64_t limit);

/// Notes the segments of loops while it exists, in the order in which loops run. There is one at a
/// time.
class SegmentRecord {
public:
  SegmentRecord();
  ~SegmentRecord();
  SegmentRecord(const SegmentRecord &) = delete;
  SegmentRecord &operator=(const SegmentRecord &) = delete;

  void add(const KeptSteps &kept, int64_t length);
  /// For each loop: its `steps` and `samples`, the `segment_steps` that are kept at a time, and the
  /// `bytes` that these and the states between segments take.
  const nlohmann::ordered_json &toJson() const { return loops; }

private:
  nlohmann::ordered_json loops = nlohmann::ordered_json::array();
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_SEGMENTSTEPS_H

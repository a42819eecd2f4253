//===- Segments.h - Truncated backpropagation through time ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H
#define BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H

#include "bppsa/Runtime/Session.h"

#include <algorithm>

namespace bppsa::runtime {

/// Keyed by the input index of the state.
using StateArrays = std::map<size_t, Array>;

/// Steps on segments of sequences. A segment starts from the final states of the previous one;
/// gradients do not cross. For streams on CPUs.
class Segments {
public:
  /// The last segment may be shorter than `length`.
  Segments(Session &session, const Dataset &data, int64_t length)
      : session(session), data(data), steps(*data.steps()), length(length) {}

  int64_t count() const { return (steps + length - 1) / length; }
  int64_t stepsOf(int64_t number) const { return std::min(length, steps - number * length); }

  void restart(const Batch &batch);
  /// Returns the weight of a filled segment in the batch's mean loss.
  double weightOf(const Batch &batch, int64_t number, size_t loss);
  Batch &fill(const Batch &batch, int64_t number);
  /// Runs a step variant on a filled segment. Its final states become the next initial states.
  void run(const std::string &function, const Batch &batch, int64_t number);
  StateArrays &currentStates() { return states; }

private:
  struct Segment {
    Batch batch;
    StateArrays finals;
    std::string function;
    Call call;
  };

  Segment &find(const Batch &batch, int64_t number);
  static Array cut(const Array &array, std::optional<int64_t> axis, int64_t size);

  Session &session;
  const Dataset &data;
  int64_t steps, length;
  std::map<std::pair<int64_t, int64_t>, Segment> segments;
  StateArrays states;
};

/// Throws Error if `flag` cannot cut sequences because the model has no states or a loss is not on
/// a sequence.
void requireSegments(const Model &model, const char *flag);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H

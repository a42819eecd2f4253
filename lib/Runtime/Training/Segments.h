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

/// States or their cotangents, keyed by the input index of the state.
using StateArrays = std::map<size_t, Array>;

/// Training steps on segments of a batch of sequences. Each segment starts from the final states of
/// the previous one, but gradients do not cross segment boundaries. For streams on CPUs.
class Segments {
public:
  /// Cuts sequences into segments of `length` steps. The last one may be shorter.
  Segments(Session &session, const Dataset &data, int64_t length)
      : session(session), data(data), steps(*data.steps()), length(length) {}

  int64_t count() const { return (steps + length - 1) / length; }
  int64_t stepsOf(int64_t number) const { return std::min(length, steps - number * length); }

  /// Starts with the first segment of `batch` and the states in `batch`.
  void restart(const Batch &batch);
  /// The weight of segment `number`, which must be filled, in mean loss `loss` of its batch.
  double weightOf(const Batch &batch, int64_t number, size_t loss);
  /// Fills a segment with its steps and the states before it.
  Batch &fill(const Batch &batch, int64_t number);
  /// Runs `function`, a variant of the step, on segment `number`, which must be filled. Its final
  /// states become the initial states of the next segment.
  void run(const std::string &function, const Batch &batch, int64_t number);
  /// The states before the next segment.
  StateArrays &currentStates() { return states; }

private:
  /// Memory for segments with a given number of samples and steps.
  struct Segment {
    Batch batch;
    /// Final states, keyed by the corresponding input.
    StateArrays finals;
    std::string function;
    Call call;
  };

  Segment &find(const Batch &batch, int64_t number);
  static Array cut(const Array &array, std::optional<int64_t> axis, int64_t size);

  Session &session;
  const Dataset &data;
  int64_t steps, length;
  /// Keyed by samples and steps.
  std::map<std::pair<int64_t, int64_t>, Segment> segments;
  StateArrays states;
};

/// Throws Error if the option `flag` cannot cut sequences, because the model has no states or a
/// loss is not on a sequence.
void requireSegments(const Model &model, const char *flag);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H

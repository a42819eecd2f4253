//===- Segments.h - Truncated backpropagation through time ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H
#define BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H

#include "bppsa/Runtime/Session.h"

#include <algorithm>

namespace bppsa::runtime {

/// States or their cotangents, by the position of the input that a state is.
using StateArrays = std::map<size_t, Array>;

/// Training steps on segments of the sequences of a batch: the state goes on from segment to
/// segment, the gradient stops between them. For programs of streams on CPUs.
class Segments {
public:
  /// Sequences of `steps` steps are cut into segments of `length`; the last one may be shorter.
  Segments(Session &session, const Dataset &data, int64_t length)
      : session(session), data(data), steps(*data.steps()), length(length) {}

  int64_t count() const { return (steps + length - 1) / length; }
  int64_t stepsOf(int64_t number) const { return std::min(length, steps - number * length); }

  /// Goes to the first segment of the sequences in `batch`, where the states are those of `batch`.
  void restart(const Batch &batch);
  /// What the mean loss `loss` of segment `number`, which has been filled, counts in that of its
  /// batch.
  double weightOf(const Batch &batch, int64_t number, size_t loss);
  /// Puts segment `number` of the sequences, and the states before it, together.
  Batch &fill(const Batch &batch, int64_t number);
  /// Computes `function`, a variant of the step, on segment `number`, which has been filled, and
  /// takes its final states as the first ones of the next.
  void run(const std::string &function, const Batch &batch, int64_t number);
  /// The states before the next segment.
  StateArrays &currentStates() { return states; }

private:
  /// A segment of some number of samples and steps.
  struct Segment {
    Batch batch;
    /// Final states, under the inputs that they become.
    StateArrays finals;
    std::string function;
    Call call;
  };

  Segment &find(const Batch &batch, int64_t number);
  static Array cut(const Array &array, std::optional<int64_t> axis, int64_t size);

  Session &session;
  const Dataset &data;
  int64_t steps, length;
  /// By samples and steps.
  std::map<std::pair<int64_t, int64_t>, Segment> segments;
  StateArrays states;
};

/// Throws Error where the option `flag` cannot cut sequences: a model without states or a loss of
/// no sequence.
void requireSegments(const Model &model, const char *flag);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_SEGMENTS_H

//===- Schedule.h - Learning-rate schedules -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_SCHEDULE_H
#define BPPSA_RUNTIME_TRAINING_SCHEDULE_H

#include <cstdint>
#include <string>

namespace bppsa::runtime {

/// The learning rate by step, described by parts with commas between them:
///   constant         the base rate (the default)
///   step:N:GAMMA     times GAMMA after every N epochs
///   cosine[:MIN]     half a cosine wave from the base rate to MIN (0) at the last step
///   warmup:N         times (s + 1) / N in the first N steps; may stand before any of the others
class Schedule {
public:
  /// Throws Error when the text is none of the above.
  explicit Schedule(const std::string &text);

  /// The rate at step `step` (from 0) of `total`, with `perEpoch` steps an epoch.
  double rate(double base, int64_t step, int64_t perEpoch, int64_t total) const;

private:
  enum class Kind { Constant, Step, Cosine };
  Kind kind = Kind::Constant;
  int64_t warmup = 0, every = 1;
  double gamma = 1, minimum = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_SCHEDULE_H

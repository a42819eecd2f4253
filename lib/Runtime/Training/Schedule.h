//===- Schedule.h - Learning-rate schedules -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_SCHEDULE_H
#define BPPSA_LIB_RUNTIME_TRAINING_SCHEDULE_H

#include <cstdint>
#include <string>
#include <vector>

namespace bppsa::runtime {

/// The learning rate by step, described by parts with commas between them:
///   constant         the base rate (the default)
///   step:N:GAMMA     times GAMMA after every N epochs
///   cosine[:MIN]     half a cosine wave from the base rate to MIN (0) at the last step
///   plateau[:F[:N]]  times F (0.1) after more than N (10) epochs whose loss did not fall
///   warmup:N         times (s + 1) / N in the first N steps; may stand before any of the others
class Schedule {
public:
  /// Throws Error when the text is none of the above.
  explicit Schedule(const std::string &text);

  /// Whether the rates depend on how many batches an epoch has.
  bool dependsOnLength() const { return kind == Kind::Step || kind == Kind::Cosine; }

  /// The rate at step `step` (from 0) of `total`, with `perEpoch` steps an epoch.
  double rate(double base, int64_t step, int64_t perEpoch, int64_t total) const;

  /// By what a plateau has multiplied the rate after epochs with these losses, as PyTorch's
  /// ReduceLROnPlateau does; 1 for other schedules.
  double plateauScale(const std::vector<double> &losses) const;

private:
  enum class Kind { Constant, Step, Cosine, Plateau };
  Kind kind = Kind::Constant;
  int64_t warmup = 0, every = 1;
  double gamma = 1, minimum = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_SCHEDULE_H

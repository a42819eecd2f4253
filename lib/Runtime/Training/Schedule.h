//===- Schedule.h - Learning-rate schedules -------------------------------===//
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

/// The learning rate as a function of the step, described by comma-separated parts:
///   constant         the base rate (the default)
///   step:N:GAMMA     times GAMMA after every N epochs
///   cosine[:MIN]     half a cosine wave from the base rate to MIN (0) at the last step
///   plateau[:F[:N]]  times F (0.1) after more than N (10) epochs whose loss did not fall
///   warmup:N         times (s + 1) / N in the first N steps; may precede any other part
class Schedule {
public:
  explicit Schedule(const std::string &text);

  bool dependsOnLength() const { return kind == Kind::Step || kind == Kind::Cosine; }

  /// Returns the rate at step `step` (from 0) of `total`.
  double rate(double base, int64_t step, int64_t perEpoch, int64_t total) const;

  /// Returns the factor of a plateau schedule after epochs with these losses, like PyTorch's
  /// ReduceLROnPlateau; otherwise 1.
  double plateauScale(const std::vector<double> &losses) const;

private:
  enum class Kind { Constant, Step, Cosine, Plateau };
  Kind kind = Kind::Constant;
  int64_t warmup = 0, every = 1;
  double gamma = 1, minimum = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_SCHEDULE_H

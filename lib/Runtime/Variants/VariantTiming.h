//===- VariantTiming.h - Variant selection by timing ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A VariantCaller measures times, so that tests can inject disturbed ones. The preferred variant is
// selected unless another is clearly faster.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H
#define BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bppsa::runtime {

/// The share of the run time spent on measuring, before and again during the run.
inline constexpr double kMeasuringShare = 0.02;
/// Variants alternate: A B A B ...
inline constexpr int kTimingRounds = 7;

/// Disturbances only make calls longer, so the fastest call is the best estimate.
class InterleavedTimes {
public:
  explicit InterleavedTimes(size_t variants = 0);
  /// Ignores impossible times.
  void add(size_t variant, double seconds);
  /// Infinite if there are no times.
  double best(size_t variant) const { return fastest[variant]; }

private:
  std::vector<double> fastest;
};

/// Returns the variant with the lowest cost if that is clearly below `preferred`; otherwise, or for
/// impossible costs, `preferred`.
size_t pickClearlyLeast(const std::vector<double> &costs, size_t preferred);

/// Extrapolates linearly to `work`, with work0 < work1. NaN if the cost does not increase.
double extrapolate(double work0, double cost0, double work1, double cost1, double work);

class VariantCaller {
public:
  virtual ~VariantCaller() = default;
  /// Returns the seconds of preparation; nothing if memory is insufficient.
  virtual std::optional<double> prepare(int64_t steps) = 0;
  virtual double call(size_t variant) = 0;
};

struct TimingTask {
  size_t variants = 0, preferred = 0;
  /// Increasing, ending with the length of the run.
  std::vector<int64_t> lengths;
  int64_t calls = 0;
  /// The estimated cost of a call, in an arbitrary unit.
  std::function<double(size_t variant, int64_t steps)> countedCost;
};

/// Calls of the preferred variant at the two shortest lengths predict the time of the run;
/// measuring takes at most kMeasuringShare of it, plus one call. Returns the preferred variant if
/// there is no time to measure.
size_t chooseByTiming(const TimingTask &task, VariantCaller &caller);

/// During the run, occasionally times the other variants, for kTimingRounds rounds.
class VariantCheck {
public:
  VariantCheck() = default;
  /// `othersCost` is the cost of calling all other variants once, relative to the one in use.
  VariantCheck(size_t variants, size_t used, double othersCost)
      : times(variants), variants(variants), used(used), expected(othersCost) {}

  /// Returns true if a round is due after `calls` calls that took `seconds` in total.
  bool isDue(double seconds, int64_t calls) const;
  void add(const std::vector<double> &seconds);
  bool isOver() const { return rounds == kTimingRounds || variants < 2; }
  /// The variant to use, and its time relative to the one in use.
  size_t choice() const;
  double ratio() const { return times.best(choice()) / times.best(used); }

private:
  InterleavedTimes times;
  size_t variants = 0, used = 0;
  double expected = 0, spent = 0;
  int rounds = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H

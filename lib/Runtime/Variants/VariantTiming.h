//===- VariantTiming.h - which variant is the fastest, by times -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Decides by times that others take, so that tests can plant disturbed ones. Variants are numbers
// from 0; the preferred one is taken unless times clearly speak for another one.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H
#define BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bppsa::runtime {

/// The share of the whole run that may be spent on measuring before it, and again while it runs.
inline constexpr double kMeasuringShare = 0.02;
/// How often each variant is timed, in turns: A B A B ...
inline constexpr int kTimingRounds = 7;

/// Times of variants that were called in turns. Whatever disturbs a call makes it longer, so that
/// the fastest of several calls tells what a variant takes.
class InterleavedTimes {
public:
  explicit InterleavedTimes(size_t variants = 0);
  /// Times that no call can take (zero, negative, not finite) are not counted.
  void add(size_t variant, double seconds);
  /// Infinite where there is none.
  double best(size_t variant) const { return fastest[variant]; }

private:
  std::vector<double> fastest;
};

/// The variant with the least of `costs`, where that is clearly less than that of `preferred`;
/// `preferred` too where a cost is not a positive number.
size_t pickClearlyLeast(const std::vector<double> &costs, size_t preferred);

/// The cost at `work` on the straight line through (work0, cost0) and (work1, cost1), where
/// work0 < work1; NaN where it does not grow with the work.
double extrapolate(double work0, double cost0, double work1, double cost1, double work);

/// Calls variants. Tests have one with times of their own.
class VariantCaller {
public:
  virtual ~VariantCaller() = default;
  /// Makes ready for calls at `steps` time steps, and gives the seconds that it took; nothing where
  /// there is no memory for that.
  virtual std::optional<double> prepare(int64_t steps) = 0;
  /// Calls a variant at these steps, and gives the seconds that it took.
  virtual double call(size_t variant) = 0;
};

/// A choice before a run.
struct TimingTask {
  size_t variants = 0, preferred = 0;
  /// Time steps to call the variants at, growing; the last are those of the run.
  std::vector<int64_t> lengths;
  /// The calls of the run.
  int64_t calls = 0;
  /// What a call of a variant costs at so many steps, as counted, in any unit that all share.
  std::function<double(size_t variant, int64_t steps)> countedCost;
};

/// The fastest variant. Six calls of the preferred one at the two shortest lengths tell how long
/// the run will take; then measuring takes no more than measuringShare of that, and one call. Runs
/// that leave no time for two lengths, or for the only one, take the preferred variant.
size_t chooseByTiming(const TimingTask &task, VariantCaller &caller);

/// Checks a choice while the run goes on: from time to time the other variants are called beside
/// the one in use, until each was timed in as many rounds as before a run.
class VariantCheck {
public:
  /// Nothing to check.
  VariantCheck() = default;
  /// `othersCost` is what calls of all others cost, in those of the one in use, as counted.
  VariantCheck(size_t variants, size_t used, double othersCost)
      : times(variants), variants(variants), used(used), expected(othersCost) {}

  /// Whether a round is due after `calls` calls of the run that took `seconds`: whether the others
  /// then have taken no more than measuringShare of that.
  bool isDue(double seconds, int64_t calls) const;
  /// A round: the seconds of a call of each variant.
  void add(const std::vector<double> &seconds);
  bool isOver() const { return rounds == kTimingRounds || variants < 2; }
  /// The variant to use from now on, and what it takes in times of the one in use.
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

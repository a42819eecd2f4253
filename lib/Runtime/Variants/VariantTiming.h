//===- VariantTiming.h - Variant selection by timing ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Times are measured by a VariantCaller, so that tests can inject disturbed ones. Variants are
// identified by index. The preferred variant is selected unless another one is clearly faster.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H
#define BPPSA_LIB_RUNTIME_VARIANTS_VARIANTTIMING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bppsa::runtime {

/// The share of the run time that may be spent on measuring, before the run and again during it.
inline constexpr double kMeasuringShare = 0.02;
/// How often each variant is timed, alternating with the others: A B A B ...
inline constexpr int kTimingRounds = 7;

/// Times of variants that are called alternately. Disturbances only make calls longer, so the
/// fastest of several calls is the best estimate.
class InterleavedTimes {
public:
  explicit InterleavedTimes(size_t variants = 0);
  /// Ignores impossible times (zero, negative, not finite).
  void add(size_t variant, double seconds);
  /// Infinite if there are no times.
  double best(size_t variant) const { return fastest[variant]; }

private:
  std::vector<double> fastest;
};

/// Returns the variant with the lowest cost if that is clearly below the cost of `preferred`;
/// otherwise `preferred`, also if some cost is not a positive number.
size_t pickClearlyLeast(const std::vector<double> &costs, size_t preferred);

/// Extrapolates linearly from (work0, cost0) and (work1, cost1), with work0 < work1, to `work`.
/// Returns NaN if the cost does not increase.
double extrapolate(double work0, double cost0, double work1, double cost1, double work);

/// Calls variants. Tests implement it with predefined times.
class VariantCaller {
public:
  virtual ~VariantCaller() = default;
  /// Prepares calls at `steps` time steps. Returns the seconds it took, or nothing if there is not
  /// enough memory.
  virtual std::optional<double> prepare(int64_t steps) = 0;
  /// Returns the seconds it took.
  virtual double call(size_t variant) = 0;
};

struct TimingTask {
  size_t variants = 0, preferred = 0;
  /// Time steps to measure at, in increasing order, ending with the length of the run.
  std::vector<int64_t> lengths;
  /// The number of calls in the run.
  int64_t calls = 0;
  /// The estimated cost of a call of a variant at this many steps, in the same arbitrary unit for
  /// all variants.
  std::function<double(size_t variant, int64_t steps)> countedCost;
};

/// Chooses the fastest variant. Six calls of the preferred variant at the two shortest lengths
/// predict the time of the run. Measuring then takes at most kMeasuringShare of it, plus one call.
/// Returns the preferred variant if there is no time to measure two lengths, or the only one.
size_t chooseByTiming(const TimingTask &task, VariantCaller &caller);

/// Checks a choice during the run: occasionally calls the other variants next to the one in use,
/// until each has been timed in kTimingRounds rounds.
class VariantCheck {
public:
  VariantCheck() = default;
  /// `othersCost` is the estimated cost of calling all other variants once, relative to a call of
  /// the one in use.
  VariantCheck(size_t variants, size_t used, double othersCost)
      : times(variants), variants(variants), used(used), expected(othersCost) {}

  /// Returns true if a round is due after `calls` calls that took `seconds`. The other variants
  /// take at most kMeasuringShare of the run.
  bool isDue(double seconds, int64_t calls) const;
  /// Adds a round: the seconds of a call of each variant.
  void add(const std::vector<double> &seconds);
  bool isOver() const { return rounds == kTimingRounds || variants < 2; }
  /// The variant to use from now on, and its time relative to the variant in use.
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

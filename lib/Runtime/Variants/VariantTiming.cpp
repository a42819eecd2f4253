//===- VariantTiming.cpp - Variant selection by timing --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Variants/VariantTiming.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace bppsa::runtime;

/// Smaller differences may be noise, and equal runs should choose alike.
static constexpr double kMaxCostRatio = 0.97;
/// Calls at each of the two shortest lengths. The first call is a warm-up.
static constexpr int kProbeCalls = 3;
/// Fewer calls do not justify timing. Probe calls of a fixed length are as expensive as calls of
/// the run.
static constexpr int64_t kFewestCalls = 100,
                         kFewestCallsOfFixed = 2 * kProbeCalls / kMeasuringShare;

static bool isPositive(double value) { return std::isfinite(value) && value > 0; }

InterleavedTimes::InterleavedTimes(size_t variants)
    : fastest(variants, std::numeric_limits<double>::infinity()) {}

void InterleavedTimes::add(size_t variant, double seconds) {
  if (isPositive(seconds))
    fastest[variant] = std::min(fastest[variant], seconds);
}

size_t bppsa::runtime::pickClearlyLeast(const std::vector<double> &costs, size_t preferred) {
  if (!std::all_of(costs.begin(), costs.end(), isPositive))
    return preferred;
  size_t least = std::min_element(costs.begin(), costs.end()) - costs.begin();
  return costs[least] < kMaxCostRatio * costs[preferred] ? least : preferred;
}

double bppsa::runtime::extrapolate(double work0, double cost0, double work1, double cost1,
                                   double work) {
  double slope = (cost1 - cost0) / (work1 - work0);
  if (!isPositive(slope))
    return std::numeric_limits<double>::quiet_NaN();
  return cost1 + slope * (work - work1);
}

namespace {
class Chooser {
public:
  Chooser(const TimingTask &task, VariantCaller &caller) : task(task), caller(caller) {}
  size_t run();

private:
  struct Measurement {
    int64_t length;
    std::vector<double> seconds;
  };

  bool probe();
  double predictPreferred(int64_t length) const;
  double getBudget() const;
  double predictMeasuring(int64_t length) const;
  bool measure(int64_t length);
  std::vector<double> predictRun() const;

  const TimingTask &task;
  VariantCaller &caller;
  Measurement before, last;
  std::vector<Measurement> measured;
  double spent = 0;
};
} // namespace

/// Returns false if memory is insufficient or the clock does not advance.
bool Chooser::probe() {
  for (size_t i : {size_t(0), std::min<size_t>(1, task.lengths.size() - 1)}) {
    if (!caller.prepare(task.lengths[i]))
      return false;
    InterleavedTimes times(1);
    for (int call = 0; call < kProbeCalls; ++call)
      if (double seconds = caller.call(task.preferred); call > 0)
        times.add(0, seconds);
    if (!isPositive(times.best(0)))
      return false;
    before = std::exchange(last, {task.lengths[i], {times.best(0)}});
  }
  return true;
}

/// Falls back to the longest measured time.
double Chooser::predictPreferred(int64_t length) const {
  double first = before.seconds[0], second = last.seconds[0];
  double seconds =
      extrapolate(static_cast<double>(before.length), first, static_cast<double>(last.length),
                  second, static_cast<double>(length));
  return isPositive(seconds) ? seconds : std::max(first, second);
}

double Chooser::getBudget() const {
  return kMeasuringShare * static_cast<double>(task.calls) * predictPreferred(task.lengths.back());
}

double Chooser::predictMeasuring(int64_t length) const {
  double preferred = task.countedCost(task.preferred, length), all = 0;
  for (size_t variant = 0; variant < task.variants; ++variant)
    all += task.countedCost(variant, length) / preferred;
  return (kTimingRounds + 1) * all * predictPreferred(length);
}

/// Returns false if memory or the budget is exhausted.
bool Chooser::measure(int64_t length) {
  double budget = getBudget();
  std::optional<double> preparing;
  if (spent + predictMeasuring(length) > budget || !(preparing = caller.prepare(length)))
    return false;
  spent += *preparing;
  InterleavedTimes times(task.variants);
  // The first round is a warm-up.
  for (int round = 0; round <= kTimingRounds; ++round)
    for (size_t variant = 0; variant < task.variants; ++variant) {
      if (spent > budget)
        return false;
      double seconds = caller.call(variant);
      spent += std::max(seconds, 0.0);
      if (round > 0)
        times.add(variant, seconds);
    }
  measured.push_back({length, {}});
  for (size_t variant = 0; variant < task.variants; ++variant)
    measured.back().seconds.push_back(times.best(variant));
  if (length > last.length)
    before = std::exchange(last, {length, {times.best(task.preferred)}});
  return true;
}

std::vector<double> Chooser::predictRun() const {
  const Measurement &longer = measured.back();
  int64_t whole = task.lengths.back();
  if (longer.length == whole)
    return longer.seconds;
  const Measurement &shorter = measured[measured.size() - 2];
  std::vector<double> costs;
  for (size_t variant = 0; variant < task.variants; ++variant)
    costs.push_back(extrapolate(task.countedCost(variant, shorter.length), shorter.seconds[variant],
                                task.countedCost(variant, longer.length), longer.seconds[variant],
                                task.countedCost(variant, whole)));
  return costs;
}

size_t Chooser::run() {
  bool isFixed = task.lengths.size() == 1;
  if (task.calls < (isFixed ? kFewestCallsOfFixed : kFewestCalls) || !probe())
    return task.preferred;
  for (int64_t length : task.lengths)
    if (!measure(length))
      break;
  bool isEnough =
      measured.size() > 1 || (!measured.empty() && measured.back().length == task.lengths.back());
  return isEnough ? pickClearlyLeast(predictRun(), task.preferred) : task.preferred;
}

size_t bppsa::runtime::chooseByTiming(const TimingTask &task, VariantCaller &caller) {
  return Chooser(task, caller).run();
}

bool VariantCheck::isDue(double seconds, int64_t calls) const {
  if (isOver() || calls < 1)
    return false;
  double next = rounds > 0 ? spent / rounds : expected * seconds / static_cast<double>(calls);
  return spent + next <= kMeasuringShare * seconds;
}

void VariantCheck::add(const std::vector<double> &seconds) {
  ++rounds;
  for (size_t variant = 0; variant < variants; ++variant) {
    times.add(variant, seconds[variant]);
    if (variant != used)
      spent += std::max(seconds[variant], 0.0);
  }
}

size_t VariantCheck::choice() const {
  std::vector<double> costs;
  for (size_t variant = 0; variant < variants; ++variant)
    costs.push_back(times.best(variant));
  return pickClearlyLeast(costs, used);
}

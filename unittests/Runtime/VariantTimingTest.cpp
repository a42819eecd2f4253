//===- VariantTimingTest.cpp - Tests of variant selection by timing -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Variants/VariantTiming.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace bppsa::runtime;

namespace {
/// The undisturbed time of a variant: fixed + perStep * steps.
struct TrueCost {
  double fixed, perStep;

  double at(int64_t steps) const { return fixed + perStep * static_cast<double>(steps); }
};

/// Returns the true times, modified by `disturb` for the n-th call (from 0).
class FakeCaller : public VariantCaller {
public:
  using Disturbance = std::function<double(int64_t call, size_t variant, double seconds)>;

  explicit FakeCaller(std::vector<TrueCost> costs, Disturbance disturb = nullptr)
      : costs(std::move(costs)), disturb(std::move(disturb)) {}

  std::optional<double> prepare(int64_t length) override {
    steps = length;
    longest = std::max(longest, length);
    return length > maxSteps ? std::nullopt : std::optional(0.0);
  }
  double call(size_t variant) override {
    double seconds = costs[variant].at(steps);
    if (disturb)
      seconds = disturb(calls, variant, seconds);
    ++calls;
    spent += std::isfinite(seconds) ? seconds : 0;
    return seconds;
  }

  const std::vector<TrueCost> costs;
  const Disturbance disturb;
  int64_t steps = 0, calls = 0, longest = 0, maxSteps = 1 << 20;
  double spent = 0;
};
} // namespace

static constexpr int64_t wholeLength = 128;

static TimingTask makeTask(int64_t calls, size_t variants = 2) {
  TimingTask task;
  task.variants = variants;
  task.lengths = {2, 8, 32, wholeLength};
  task.calls = calls;
  task.countedCost = [](size_t, int64_t steps) { return static_cast<double>(steps); };
  return task;
}

static const std::vector<TrueCost> slowScan = {{1e-4, 1e-3}, {1e-4, 36e-3}},
                                   fastScan = {{1e-4, 1e-3}, {1e-4, 0.5e-3}};

TEST(VariantTimingTest, TakesAScanThatWins) {
  // With enough time for all lengths, for the first two, and for none.
  for (auto [calls, longest, chosen] :
       {std::tuple(10000, wholeLength, 1u), std::tuple(200, int64_t(8), 1u),
        std::tuple(20, int64_t(0), 0u)}) {
    FakeCaller caller(fastScan);
    EXPECT_EQ(chooseByTiming(makeTask(calls), caller), chosen) << calls;
    EXPECT_EQ(caller.longest, longest);
  }
}

TEST(VariantTimingTest, OneDisturbedTimingDoesNotMatter) {
  for (int64_t disturbed = 0; disturbed < 70; ++disturbed) {
    auto disturb = [&](int64_t call, size_t, double seconds) {
      return call == disturbed ? 50 * seconds : seconds;
    };
    FakeCaller slow(slowScan, disturb), fast(fastScan, disturb);
    EXPECT_EQ(chooseByTiming(makeTask(10000), slow), 0u) << disturbed;
    EXPECT_EQ(chooseByTiming(makeTask(10000), fast), 1u) << disturbed;
  }
}

/// Regression test: the time of a scan seems constant or decreases with the length.
TEST(VariantTimingTest, SlopesThatDoNotRiseDecideNothing) {
  for (double power : {0, 1, 2}) {
    FakeCaller caller(slowScan, [&](int64_t, size_t variant, double seconds) {
      return variant == 0 ? seconds : 1e-4 * std::pow(seconds, -power);
    });
    caller.maxSteps = 8;
    EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 0u) << power;
    EXPECT_EQ(caller.longest, 32);
  }
}

TEST(VariantTimingTest, EqualTimesDecideNothing) {
  for (double seconds : {0.0, 1e-3, -1.0, std::nan(""), double(INFINITY)}) {
    FakeCaller caller(slowScan, [&](int64_t, size_t, double) { return seconds; });
    EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 0u) << seconds;
  }
  FakeCaller caller({{1e-4, 1e-3}, {1e-4, 0.98e-3}});
  EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 0u);
}

/// If the model fixes its length, no shorter sequences are timed.
TEST(VariantTimingTest, FixedLengthsAreTimedAsTheyAre) {
  for (auto [calls, chosen] : {std::pair(299, 0u), std::pair(799, 0u), std::pair(801, 1u)}) {
    TimingTask task = makeTask(calls);
    task.lengths = {wholeLength};
    FakeCaller caller(fastScan);
    EXPECT_EQ(chooseByTiming(task, caller), chosen) << calls;
    EXPECT_LE(caller.spent, 2 * kMeasuringShare * calls * fastScan[0].at(wholeLength));
  }
}

TEST(VariantTimingTest, TimesWhatThereIsMemoryFor) {
  FakeCaller caller(fastScan);
  caller.maxSteps = 8;
  EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 1u);
  caller.maxSteps = 2;
  EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 0u);
  caller.maxSteps = 1;
  EXPECT_EQ(chooseByTiming(makeTask(10000), caller), 0u);
}

/// Also if times do not depend on the length, and if a variant is slower than estimated.
TEST(VariantTimingTest, MeasuringIsASmallPartOfTheRun) {
  for (const std::vector<TrueCost> &costs :
       {slowScan, fastScan, {{1e-2, 1e-9}, {2e-2, 1e-9}}, {{1e-4, 1e-3}, {10, 1}}})
    for (int64_t calls : {1, 50, 99, 100, 300, 1000, 100000}) {
      FakeCaller caller(costs);
      chooseByTiming(makeTask(calls), caller);
      double step = costs[0].at(wholeLength), probe = 6 * costs[0].at(8);
      double oneMore = std::max(costs[0].at(caller.longest), costs[1].at(caller.longest));
      EXPECT_LE(caller.spent, calls < 100 ? 0 : probe + kMeasuringShare * calls * step + oneMore)
          << calls;
    }
}

/// Three of every ten timings are disturbed by a factor of up to 100.
TEST(VariantTimingTest, DisturbancesCostNoMoreThanFivePercent) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    auto draw = [&](double least, double most) {
      return std::uniform_real_distribution(least, most)(random);
    };
    std::vector<TrueCost> costs;
    for (int variant = 0; variant < 2; ++variant)
      costs.push_back({draw(0, 1e-3), draw(0.5e-3, 1e-3) * draw(1, 4)});
    std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    FakeCaller caller(costs, [&](int64_t call, size_t, double seconds) {
      if (call % 10 == 0)
        std::shuffle(order.begin(), order.end(), random);
      return order[call % 10] < 3 ? seconds * std::exp(draw(0, std::log(100))) : seconds;
    });
    TimingTask task = makeTask(100000);
    task.preferred = seed % 2;
    double taken = costs[chooseByTiming(task, caller)].at(wholeLength);
    EXPECT_EQ(caller.longest, wholeLength);
    EXPECT_LE(taken, 1.05 * std::min(costs[0].at(wholeLength), costs[1].at(wholeLength))) << seed;
  }
}

namespace {
/// A shape of the benchmark grid, and the step time of each variant.
struct GridShape {
  int64_t steps;
  std::vector<double> microseconds;
};
} // namespace

static const GridShape grid[] = {
#include "GridTimes.inc"
};

/// Uses the times of the committed grid, with one of every ten disturbed by a factor of up to 100.
TEST(VariantTimingTest, TakesTheBestOfTheGridButForFivePercent) {
  for (const GridShape &shape : grid)
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::vector<TrueCost> costs;
      for (double microseconds : shape.microseconds)
        costs.push_back({0, 1e-6 * microseconds / static_cast<double>(shape.steps)});
      std::mt19937 random(seed);
      int64_t disturbed = 0;
      FakeCaller caller(costs, [&](int64_t call, size_t, double seconds) {
        if (call % 10 == 0)
          disturbed = std::uniform_int_distribution(0, 9)(random);
        double longer = std::exp(std::uniform_real_distribution(0.0, std::log(100))(random));
        return call % 10 == disturbed ? longer * seconds : seconds;
      });
      TimingTask task = makeTask(10000000, costs.size());
      task.lengths = {shape.steps / 64, shape.steps / 16, shape.steps / 4, shape.steps};
      double taken = shape.microseconds[chooseByTiming(task, caller)];
      EXPECT_EQ(caller.longest, shape.steps);
      EXPECT_LE(taken,
                1.05 * *std::min_element(shape.microseconds.begin(), shape.microseconds.end()))
          << shape.steps << " steps, " << shape.microseconds.front() << " us, seed " << seed;
    }
}

//===----------------------------------------------------------------------===//
// Checks during a run
//===----------------------------------------------------------------------===//

namespace {
/// A run whose steps take one second, with a check of a variant that takes `other` seconds.
struct CheckedRun {
  explicit CheckedRun(double other, double counted, int64_t disturbedRound = -1,
                      size_t disturbed = 0)
      : check(2, 0, counted) {
    for (int64_t step = 0; step < 20000; ++step) {
      if (check.isDue(static_cast<double>(step), step)) {
        std::vector<double> seconds = {1, other};
        if (rounds == disturbedRound)
          seconds[disturbed] *= 50;
        spent += seconds[1];
        check.add(seconds);
        ++rounds;
        EXPECT_LE(spent, kMeasuringShare * static_cast<double>(step) + seconds[1]);
      }
    }
  }

  VariantCheck check;
  int64_t rounds = 0;
  double spent = 0;
};
} // namespace

TEST(VariantCheckTest, NothingToCheck) {
  VariantCheck check;
  EXPECT_TRUE(check.isOver());
  EXPECT_FALSE(check.isDue(1e6, 1000));
}

TEST(VariantCheckTest, ChangesToWhatIsFaster) {
  CheckedRun faster(0.5, 2), slower(2, 0.5), equal(0.99, 1);
  for (const CheckedRun *run : {&faster, &slower, &equal}) {
    EXPECT_TRUE(run->check.isOver());
    EXPECT_EQ(run->rounds, kTimingRounds);
  }
  EXPECT_EQ(faster.check.choice(), 1u);
  EXPECT_DOUBLE_EQ(faster.check.ratio(), 0.5);
  EXPECT_EQ(slower.check.choice(), 0u);
  EXPECT_EQ(equal.check.choice(), 0u);
}

TEST(VariantCheckTest, OneDisturbedRoundDoesNotMatter) {
  for (int64_t round = 0; round < kTimingRounds; ++round)
    for (size_t disturbed : {0, 1}) {
      EXPECT_EQ(CheckedRun(2, 2, round, disturbed).check.choice(), 0u);
      EXPECT_EQ(CheckedRun(0.5, 2, round, disturbed).check.choice(), 1u);
    }
}

TEST(VariantCheckTest, WaitsForWhatIsCountedToBeSlow) {
  VariantCheck check(2, 0, 20);
  EXPECT_FALSE(check.isDue(999, 999));
  EXPECT_TRUE(check.isDue(1000, 1000));
  EXPECT_FALSE(CheckedRun(1000, 1).check.isOver());
}

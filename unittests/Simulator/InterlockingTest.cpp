//===- InterlockingTest.cpp - modules with local losses -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Interlocking.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;

/// Speed-ups over a single loss from an independent simulation with unit times.
TEST(InterlockingTest, SpeedUpsOfWindows) {
  auto getSpeedUp = [](int32_t modules, int32_t window) {
    return getInterlockingPeriod(modules, modules, {1, 1, 1}) /
           getInterlockingPeriod(modules, window, {1, 1, 1});
  };
  EXPECT_NEAR(getSpeedUp(4, 1), 3.00, 0.005);
  EXPECT_NEAR(getSpeedUp(4, 2), 1.80, 0.005);
  EXPECT_NEAR(getSpeedUp(4, 3), 1.29, 0.005);
  EXPECT_NEAR(getSpeedUp(8, 1), 5.67, 0.005);
  EXPECT_NEAR(getSpeedUp(8, 2), 3.40, 0.005);
  EXPECT_NEAR(getSpeedUp(8, 3), 2.43, 0.005);
  EXPECT_NEAR(getSpeedUp(8, 4), 1.89, 0.005);
}

/// The critical cycle: N modules forward, the head, N modules backward, the update, and the hops in
/// between.
TEST(InterlockingTest, PeriodIsTheCriticalCycle) {
  for (int32_t window = 1; window <= 6; ++window)
    EXPECT_NEAR(getInterlockingPeriod(6, window, {3, 2, 5, 7, 0.5}),
                window * (3 + 2) + 5 + 7 + 2 * (window - 1) * 0.5, 1e-9)
        << window;
}

/// The published code behaves like this and needs 23 time units instead of 17 with a single loss.
TEST(InterlockingTest, WaitingForAllCotangentsMakesAChainOfAllModules) {
  EXPECT_NEAR(getInterlockingPeriod(8, 8, {1, 1, 1}), 17, 1e-9);
  EXPECT_NEAR(getInterlockingPeriod(8, 3, {1, 1, 1}, /*streams=*/false), 23, 1e-9);
}

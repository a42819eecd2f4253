//===- InterlockingTest.cpp - modules with losses of their own ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Interlocking.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;

/// An independent simulation of unit times: speed-ups over one loss for all modules.
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

/// The critical cycle: N modules forward, the head, N back, the update, and the hops between them.
TEST(InterlockingTest, PeriodIsTheCriticalCycle) {
  for (int32_t window = 1; window <= 6; ++window)
    EXPECT_NEAR(getInterlockingPeriod(6, window, {3, 2, 5, 7, 0.5}),
                window * (3 + 2) + 5 + 7 + 2 * (window - 1) * 0.5, 1e-9)
        << window;
}

/// What the published code does: 23 unit times where one loss for all takes 17.
TEST(InterlockingTest, WaitingForAllCotangentsMakesAChainOfAllModules) {
  EXPECT_NEAR(getInterlockingPeriod(8, 8, {1, 1, 1}), 17, 1e-9);
  EXPECT_NEAR(getInterlockingPeriod(8, 3, {1, 1, 1}, /*streams=*/false), 23, 1e-9);
}

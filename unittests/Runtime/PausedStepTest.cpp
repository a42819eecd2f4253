//===- PausedStepTest.cpp - Tests of steps that pause ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/PausedStep.h"
#include "gtest/gtest.h"

#include <stdexcept>
#include <unistd.h>
#include <vector>

using namespace bppsa::runtime;

TEST(PausedStepTest, TakesTurns) {
  PausedStep step;
  std::vector<int> order;
  for (int run : {0, 10}) {
    step.start([&] {
      order.push_back(run + 1);
      step.pause();
      order.push_back(run + 3);
    });
    EXPECT_TRUE(step.isPaused());
    order.push_back(run + 2);
    step.resume();
    EXPECT_FALSE(step.isPaused());
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 11, 12, 13}));
}

TEST(PausedStepTest, ThrowsWhatTheStepThrows) {
  PausedStep step;
  step.start([&] {
    step.pause();
    throw std::runtime_error("late");
  });
  EXPECT_THROW(step.resume(), std::runtime_error);
  EXPECT_FALSE(step.isPaused());
  EXPECT_NO_THROW(step.start([] {}));
}

/// A rank that fails between the parts of a step must be able to exit.
TEST(PausedStepTest, EndsAStepThatIsPaused) {
  auto leave = [] {
    alarm(60);
    bool hasEnded = false;
    {
      PausedStep step;
      step.start([&] {
        step.pause();
        step.pause();
        hasEnded = true;
      });
    }
    _exit(hasEnded ? 0 : 1);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
}

//===- ScheduleTest.cpp - Learning-rate schedules -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Schedule.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;

TEST(ScheduleTest, StepCountsEpochs) {
  Schedule schedule("step:2:0.5");
  // With three steps per epoch, the rate changes at step 6, the start of epoch 2.
  EXPECT_DOUBLE_EQ(schedule.rate(0.8, 5, 3, 12), 0.8);
  EXPECT_DOUBLE_EQ(schedule.rate(0.8, 6, 3, 12), 0.4);
}

TEST(ScheduleTest, CosineGoesFromTheBaseToTheMinimum) {
  Schedule schedule("cosine:0.2");
  EXPECT_DOUBLE_EQ(schedule.rate(1, 0, 5, 11), 1);
  EXPECT_NEAR(schedule.rate(1, 5, 5, 11), 0.6, 1e-12);
  EXPECT_NEAR(schedule.rate(1, 10, 5, 11), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(schedule.rate(1, 0, 1, 1), 1);
}

TEST(ScheduleTest, WarmupMultiplies) {
  Schedule schedule("warmup:4,constant");
  EXPECT_DOUBLE_EQ(schedule.rate(1, 0, 1, 9), 0.25);
  EXPECT_DOUBLE_EQ(schedule.rate(1, 3, 1, 9), 1);
  EXPECT_DOUBLE_EQ(schedule.rate(1, 8, 1, 9), 1);
}

TEST(ScheduleTest, RefusesOtherTexts) {
  for (const char *text :
       {"", ",", "linear", "step", "step:1", "step:1.5:0.1", "step:1:-1", "cosine:nan", "warmup",
        "warmup:2,warmup:2", "cosine,step:1:1", "constant:3", "step:1:0.1x"})
    EXPECT_THROW(Schedule{text}, Error) << text;
}

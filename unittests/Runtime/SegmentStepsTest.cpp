//===- SegmentStepsTest.cpp - Tests of segment lengths --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SegmentSteps.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;

TEST(SegmentSteps, MemoryIsThatOfOneSegmentAndOfStates) {
  // 5 steps of 100 bytes, and 10 bytes of states after the segment, at 4 segment starts, and at the
  // end.
  EXPECT_EQ((LoopResiduals{20, 3, 100, 10}.bytes(5)), 3 * (5 * 100 + 6 * 10));
  EXPECT_EQ((LoopResiduals{21, 1, 100, 10}.bytes(5)), 5 * 100 + 7 * 10);
}

TEST(SegmentSteps, OneSegmentWhereAllFits) {
  LoopResiduals kept{64, 2, 100, 10};
  EXPECT_EQ(chooseSegmentSteps(kept, 100, kept.bytes(64)), 64);
  EXPECT_EQ(chooseSegmentSteps(kept, 100, kept.bytes(64) - 1), 32);
  EXPECT_EQ(chooseSegmentSteps({1, 1, 100, 0}, 100, 100), 1);
}

TEST(SegmentSteps, LoopsShareTheLimitByWhatTheyKeep) {
  LoopResiduals kept{64, 2, 100, 10};
  EXPECT_EQ(chooseSegmentSteps(kept, 400, 4 * kept.bytes(64)), 64);
  EXPECT_EQ(chooseSegmentSteps(kept, 400, 4 * kept.bytes(64) - 4), 32);
}

TEST(SegmentSteps, WhatIsChosenFitsAndFewerSegmentsDoNot) {
  for (int64_t steps : {2, 7, 100, 1001})
    for (int64_t states : {0, 7, 100})
      for (int64_t limit : {700, 2000, 5000, 40000}) {
        LoopResiduals kept{steps, 1, 100, states};
        int64_t least = kept.bytes(1);
        for (int64_t length = 1; length <= steps; ++length)
          least = std::min(least, kept.bytes(length));
        if (least > limit) {
          EXPECT_THROW(chooseSegmentSteps(kept, 100, limit), Error);
          continue;
        }
        int64_t length = chooseSegmentSteps(kept, 100, limit);
        EXPECT_LE(kept.bytes(length), limit);
        for (int64_t segments = 1; segments < (steps + length - 1) / length; ++segments)
          EXPECT_GT(kept.bytes((steps + segments - 1) / segments), limit);
      }
}

TEST(RecomputedSteps, AllWhereTheyFit) {
  LoopResiduals kept{100, 16, 640, 80};
  EXPECT_EQ(chooseRecomputedSteps(kept, 640, kept.bytes(100)), 100);
  EXPECT_LT(chooseRecomputedSteps(kept, 640, kept.bytes(100) - 1), 100);
}

TEST(RecomputedSteps, AsManyAsTake512KiBElse) {
  // 51 steps take 512 KiB, which is rounded down to one slab.
  EXPECT_EQ(chooseRecomputedSteps({1000000, 16, 640, 80}, 640, 64 << 20), 32);
  EXPECT_EQ(chooseRecomputedSteps({1000000, 16, 240, 80}, 240, 64 << 20), 128);
  EXPECT_EQ(chooseRecomputedSteps({1000000, 16, 80, 80}, 80, 64 << 20), 256);
  EXPECT_EQ(chooseRecomputedSteps({1000000, 160, 640, 80}, 640, 512 << 20), 32);
}

TEST(RecomputedSteps, TheNearestNumberOfSlabsThatFits) {
  for (int64_t steps : {33, 100, 1001, 20000})
    for (int64_t limit : {1 << 18, 1 << 20, 1 << 22}) {
      LoopResiduals kept{steps, 16, 240, 80};
      bool fits = kept.bytes(steps) <= limit;
      for (int64_t length = 32; length < steps; length += 32)
        fits |= kept.bytes(length) <= limit;
      if (!fits) {
        EXPECT_THROW(chooseRecomputedSteps(kept, 240, limit), Error);
        continue;
      }
      int64_t chosen = chooseRecomputedSteps(kept, 240, limit);
      EXPECT_LE(kept.bytes(chosen), limit);
      if (chosen == steps)
        continue;
      EXPECT_EQ(chosen % 32, 0);
      for (int64_t length = 32; length < steps; length += 32)
        if (std::abs(length - 128) < std::abs(chosen - 128))
          EXPECT_GT(kept.bytes(length), limit) << length << " of " << steps;
    }
}

TEST(SegmentSteps, MessageNamesTheLeastMemory) {
  try {
    chooseSegmentSteps({1000, 16, 4 << 20, 1 << 20}, 8 << 20, 2 << 20);
    FAIL();
  } catch (const Error &error) {
    std::string line = error.what();
    EXPECT_NE(line.find("1000 steps of 16 samples"), std::string::npos) << line;
    EXPECT_NE(line.find("1.00 MiB of --memory-limit"), std::string::npos) << line;
    EXPECT_NE(line.find("--memory-limit=4129M"), std::string::npos) << line;
  }
}

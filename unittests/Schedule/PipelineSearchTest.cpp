//===- PipelineSearchTest.cpp - pipeline schedules within a memory --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Schedule/PipelineSearch.h"
#include "ZeroBubbleTable.h"
#include "bppsa/Schedule/PipelineRules.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;

class SearchedBubblesTest : public testing::TestWithParam<PublishedBubbles> {};

TEST_P(SearchedBubblesTest, AgreeWithinTheMemory) {
  PublishedBubbles row = GetParam();
  Pipeline pipeline = row.getPipeline();
  auto check = [&](double limit, double published) {
    PipelineResult result = evaluate(pipeline, searchDeferral(pipeline, limit)).value();
    EXPECT_NEAR(result.getBubble(result.span), published, 0.005);
    EXPECT_LE(result.getPeakActivations(), limit + 1e-9);
  };
  check(row.stages, row.onep);
  check(2 * row.stages, row.twop);
}

INSTANTIATE_TEST_SUITE_P(ZeroBubble, SearchedBubblesTest, testing::ValuesIn(kPublishedBubbles));

/// The authors of the V shape state that equal times leave no bubble within the memory of 1F1B.
TEST(VShapeTest, HasNoBubbleWithinTheMemoryOfOneForwardOneBackward) {
  for (auto [devices, microbatches] : {std::pair(4, 8), std::pair(8, 24), std::pair(16, 64)}) {
    Pipeline pipeline = makeVShape(devices, microbatches, {1, 1, 1}, 0);
    PipelineResult result = evaluate(pipeline, searchVShape(pipeline, devices).value()).value();
    EXPECT_NEAR(result.getBubble(result.span), 0, 1e-9);
    EXPECT_LE(result.getPeakActivations(), devices + 1e-9);
  }
}

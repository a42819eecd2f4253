//===- PipelineSearchTest.cpp - schedules under a memory limit ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineSearch.h"
#include "ZeroBubbleTable.h"
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

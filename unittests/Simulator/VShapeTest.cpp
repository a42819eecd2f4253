//===- VShapeTest.cpp - schedules with two stages per device --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/VShape.h"
#include "bppsa/Simulator/PipelineSearch.h"
#include "bppsa/Simulator/Placement.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;

class VShapeTest : public testing::TestWithParam<std::pair<int32_t, int32_t>> {
protected:
  int32_t devices = GetParam().first, microbatches = GetParam().second;
  Pipeline pipeline = makePipeline(Layers(2 * size_t(devices), {0.5, 0.5, 0.5}), {},
                                   placeVShape(devices), microbatches);
  /// The bubble of 1F1B.
  double bubble = (devices - 1.0) / (microbatches + devices - 1.0);
};

/// The authors of ZB-V state this for equal times.
TEST_P(VShapeTest, HasNoBubbleWithinTheMemoryOfOneForwardOneBackward) {
  PipelineResult result = evaluate(pipeline, searchVShape(pipeline, devices).value()).value();
  EXPECT_NEAR(result.getBubble(result.span), 0, 1e-9);
  EXPECT_LE(result.getPeakActivations(), devices + 1e-9);
}

/// Published: two thirds of the bubble and a third of the memory of 1F1B.
TEST_P(VShapeTest, VMinHasAThirdOfTheMemory) {
  PipelineResult result = evaluate(pipeline, orderByBlock(pipeline, kVMin).value()).value();
  EXPECT_NEAR(result.getBubble(result.span), 2 * bubble / 3, 0.06 * bubble);
  EXPECT_LE(result.getPeakActivations(), devices / 3.0 + 1);
}

/// Published: half of the bubble, plus some overhead, and half of the memory of 1F1B.
TEST_P(VShapeTest, VHalfHasHalfOfTheMemory) {
  PipelineResult result = evaluate(pipeline, orderByBlock(pipeline, kVHalf).value()).value();
  EXPECT_GE(result.getBubble(result.span), bubble / 2);
  EXPECT_LE(result.getBubble(result.span), 0.7 * bubble);
  EXPECT_LE(result.getPeakActivations(), devices / 2.0 + 1);
}

INSTANTIATE_TEST_SUITE_P(Sizes, VShapeTest,
                         testing::Values(std::pair(4, 8), std::pair(8, 24), std::pair(16, 64),
                                         std::pair(32, 256)));

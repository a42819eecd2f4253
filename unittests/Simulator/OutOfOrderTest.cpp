//===- OutOfOrderTest.cpp - out-of-order backprop in a pipeline -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineOrders.h"
#include "bppsa/Simulator/PipelineRules.h"
#include "bppsa/Simulator/Placement.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;

namespace {
/// Speed-ups over GPipe from an independent simulation of layers with F = B = W = 1, with two
/// digits.
struct SpeedUps {
  int32_t layers, devices, microbatches;
  double hop;
  double forwardFirst, backwardFirst, moduloForwardFirst, moduloBackwardFirst;
};
} // namespace

class SpeedUpsTest : public testing::TestWithParam<SpeedUps> {};

TEST_P(SpeedUpsTest, AgreeWithinThreePercent) {
  SpeedUps row = GetParam();
  Layers layers(row.layers, {1, 1, 1, row.hop});
  std::vector<int32_t> contiguous;
  for (int32_t layer = 0; layer < row.layers; ++layer)
    contiguous.push_back(layer * row.devices / row.layers);
  auto getTime = [&](const Pipeline &pipeline, const DeviceOrders &orders) {
    return evaluate(pipeline, orders).value().timeline.makespan;
  };
  auto check = [&](const std::vector<int32_t> &placement, DispatchRule::Forward forward,
                   double speedUp) {
    Pipeline baseline = makePipeline(layers, {}, contiguous, row.microbatches);
    Pipeline pipeline = makePipeline(layers, {}, placement, row.microbatches);
    double time = getTime(pipeline, orderByRule(pipeline, {forward}).value());
    EXPECT_NEAR(getTime(baseline, orderGPipe(baseline)) / time, speedUp, 0.03 * speedUp);
  };
  using Forward = DispatchRule::Forward;
  std::vector<int32_t> modulo = placeModulo(row.layers, 1, row.devices);
  check(contiguous, Forward::First, row.forwardFirst);
  check(contiguous, Forward::AfterBackward, row.backwardFirst);
  check(modulo, Forward::First, row.moduloForwardFirst);
  check(modulo, Forward::AfterBackward, row.moduloBackwardFirst);
}

INSTANTIATE_TEST_SUITE_P(Layers, SpeedUpsTest,
                         testing::Values(SpeedUps{24, 4, 4, 0, 1.17, 1.40, 1.62, 1.68},
                                         SpeedUps{24, 4, 4, 0.5, 1.16, 1.39, 1.42, 1.47},
                                         SpeedUps{24, 4, 4, 1, 1.16, 1.38, 1.27, 1.31},
                                         SpeedUps{24, 16, 32, 0, 1.09, 1.21, 1.25, 1.30},
                                         SpeedUps{48, 32, 40, 0, 1.14, 1.33, 1.29, 1.48},
                                         SpeedUps{48, 8, 8, 0, 1.18, 1.45, 1.71, 1.79}));

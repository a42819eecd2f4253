//===- PipelineOrdersTest.cpp - pipeline schedules in closed form ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineOrders.h"
#include "ZeroBubbleTable.h"
#include "gtest/gtest.h"
#include <limits>

using namespace bppsa::schedule;

static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Returns the bubble of a step without a barrier before the next step.
static double getBubble(const Pipeline &pipeline, const DeviceOrders &orders) {
  PipelineResult result = evaluate(pipeline, orders).value();
  return result.getBubble(result.span);
}

class PublishedBubblesTest : public testing::TestWithParam<PublishedBubbles> {};

TEST_P(PublishedBubblesTest, Agree) {
  PublishedBubbles row = GetParam();
  Pipeline pipeline = row.getPipeline();
  EXPECT_NEAR(getBubble(pipeline, orderOneForwardOneBackward(pipeline)), row.oneForwardOneBackward,
              5e-5);
  EXPECT_NEAR(getBubble(pipeline, orderZeroBubble(pipeline, kZeroBubbleH1, kNoLimit)), row.h1,
              5e-5);
  EXPECT_NEAR(getBubble(pipeline, orderZeroBubble(pipeline, kZeroBubbleH2, kNoLimit)), row.h2,
              5e-5);
}

INSTANTIATE_TEST_SUITE_P(ZeroBubble, PublishedBubblesTest, testing::ValuesIn(kPublishedBubbles));

namespace {
/// Idle time of the devices for p stages of F = B = W = 1, and the published memory.
struct UnitCase {
  int32_t stages, microbatches;
  double idle, idleH1, idleH2;
};
} // namespace

class UnitTimesTest : public testing::TestWithParam<UnitCase> {};

TEST_P(UnitTimesTest, LeavePublishedIdleTimesAndMemory) {
  auto [stages, microbatches, idle, idleH1, idleH2] = GetParam();
  Pipeline pipeline = makePipeline(stages, microbatches, {1, 1, 1});
  auto check = [&, numStages = stages, work = 3.0 * microbatches](const DeviceOrders &orders,
                                                                  double idleTime, double peak) {
    PipelineResult result = evaluate(pipeline, orders).value();
    EXPECT_DOUBLE_EQ(result.span - work, idleTime) << numStages;
    EXPECT_DOUBLE_EQ(result.getPeakActivations(), peak) << numStages;
  };
  check(orderGPipe(pipeline), idle, microbatches);
  check(orderOneForwardOneBackward(pipeline), idle, stages);
  check(orderZeroBubble(pipeline, kZeroBubbleH1, kNoLimit), idleH1, stages);
  check(orderZeroBubble(pipeline, kZeroBubbleH2, kNoLimit), idleH2, 2 * stages - 1);
}

INSTANTIATE_TEST_SUITE_P(Schedules, UnitTimesTest,
                         testing::Values(UnitCase{4, 8, 9, 3, 0}, UnitCase{8, 24, 21, 7, 0}));

TEST(PipelineTest, RefusesAnOrderAgainstDependences) {
  Pipeline pipeline = makePipeline(1, 1, {1, 1, 1});
  DeviceOrders orders = {{{OpKind::BW, 0, 0}, {OpKind::F, 0, 0}}};
  EXPECT_FALSE(evaluate(pipeline, orders));
}

/// Returns operations of one type and stage on microbatches 0, 1, ...
static std::vector<PipelineOp> repeat(OpKind kind, int32_t stage, int32_t count) {
  std::vector<PipelineOp> ops;
  for (int32_t microbatch = 0; microbatch < count; ++microbatch)
    ops.push_back({kind, stage, microbatch});
  return ops;
}

TEST(LeadingForwardTest, IsTheWarmUpOfEachStage) {
  PublishedBubbles row = kPublishedBubbles[0];
  Pipeline pipeline = row.getPipeline();
  DeviceOrders orders = orderOneForwardOneBackward(pipeline);
  std::vector<size_t> counts = countLeadingForward(orders, pipeline.placement);
  for (size_t stage = 0; stage < counts.size(); ++stage)
    EXPECT_EQ(counts[stage], counts.size() - stage);
}

TEST(LeadingForwardTest, EndsWhereADeviceNeedsWhatComesLater) {
  // The second stage runs three forward operations; the first runs only two before its first
  // backward operation.
  DeviceOrders orders = {repeat(OpKind::F, 0, 2), repeat(OpKind::F, 1, 3)};
  orders[0].push_back({OpKind::BW, 0, 0});
  orders[0].push_back({OpKind::F, 0, 2});
  orders[1].push_back({OpKind::BW, 1, 0});
  EXPECT_EQ(countLeadingForward(orders, {0, 1}), (std::vector<size_t>{2, 2}));
}

TEST(LeadingForwardTest, FollowsStagesThatComeBack) {
  // Stages 0 and 3 are on one device, 1 and 2 on the other, which runs stage 2 after a backward
  // operation.
  DeviceOrders orders = {{{OpKind::F, 0, 0}, {OpKind::F, 3, 0}, {OpKind::F, 0, 1}},
                         {{OpKind::F, 1, 0}, {OpKind::B, 1, 0}, {OpKind::F, 2, 0}}};
  EXPECT_EQ(countLeadingForward(orders, {0, 1, 1, 0}), (std::vector<size_t>{1, 1}));
  orders[1] = {{OpKind::F, 1, 0}, {OpKind::F, 2, 0}, {OpKind::F, 1, 1}};
  EXPECT_EQ(countLeadingForward(orders, {0, 1, 1, 0}), (std::vector<size_t>{3, 3}));
}

//===- OwnerExchangeTest.cpp - gradient exchange of programs --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/OwnerExchange.h"
#include "gtest/gtest.h"

using namespace bppsa::schedule;
using Kind = OwnerPolicy::Kind;

/// A tensor that takes one second to send.
static constexpr int64_t kElements = 250000000;
/// Upper bound of the time of loss messages.
static constexpr double kError = 1e-5;

static double getStep(const TrainingStep &step, const OwnerPolicy &policy, double latency = 0,
                      int32_t ranks = 2) {
  return evaluate(step, LinkNetwork{ranks, 1e9, latency}, policy).step;
}

TEST(OwnerExchangeTest, OneTensorGoesToItsOwnerAndBack) {
  TrainingStep step = {{1, 1, 1, {kElements}}};
  for (Kind kind : {Kind::Barrier, Kind::AllReduce, Kind::P3, Kind::Dear})
    EXPECT_NEAR(getStep(step, {kind, kElements}, 0.1), 3 + 2 * (1 + 0.1), kError);
  // The owner sends the sums to one rank after the other.
  EXPECT_NEAR(getStep(step, {Kind::AllReduce}, 0, 3), 3 + 1 + 2, kError);
}

/// Two layers: gradients of the second are ready 2 s before the end of the step, those of the first
/// at its end.
static TrainingStep makeTwoLayers(double forward) {
  return {{forward, 1, 1, {kElements}}, {forward, 1, 1, {kElements}}};
}

TEST(OwnerExchangeTest, WholeTensorsHaveOwnersInTurn) {
  TrainingStep step = makeTwoLayers(1);
  // The two tensors travel in opposite directions at the same time.
  EXPECT_NEAR(getStep(step, {Kind::Barrier}), 6 + 2, kError);
  // The first layer's tensor travels to its owner and then back.
  EXPECT_NEAR(getStep(step, {Kind::AllReduce}), 6 + 2, kError);
  EXPECT_NEAR(getStep(step, {Kind::P3, kElements}), 6 + 2, kError);
}

TEST(OwnerExchangeTest, SlicesGoBothWaysAtATime) {
  OwnerPolicy p3 = {Kind::P3, kElements / 2}, dear = {Kind::Dear, kElements / 2};
  TrainingStep step = makeTwoLayers(1);
  EXPECT_NEAR(getStep(step, p3), 6 + 1, kError);
  EXPECT_NEAR(getStep(step, dear), 6 + 1, kError);
  // The sums of the second layer are sent after those of the first.
  step = makeTwoLayers(0.1);
  EXPECT_NEAR(getStep(step, p3), 4.2 + 1, kError);
  EXPECT_NEAR(getStep(step, dear), 4.2 + 1 + 0.4, kError);
}

TEST(OwnerExchangeTest, LossesWaitForTheMessageThatIsSent) {
  // The first layer has no parameters, so the next step only waits for the losses of the other
  // rank. Its long second layer needs the sums 2 s after the end of the previous step.
  TrainingStep step = {{1, 0, 0, {}}, {8, 8, 0, {kElements}}};
  EXPECT_NEAR(getStep(step, {Kind::P3, kElements / 2}), 17 + 0.5, kError);
}

TEST(OwnerExchangeTest, MessagesTakeTimeOfComputations) {
  TrainingStep step = {{1, 0, 0, {}}, {8, 8, 0, {kElements}}};
  // The rank on the critical path computes nothing while a message is sent.
  EXPECT_NEAR(getStep(step, {Kind::Barrier, kElements, 0.25}), 17 + 2, kError);
  // Sums are sent for half a second while the first layer computes and loses a quarter of that
  // time.
  OwnerPolicy p3 = {Kind::P3, kElements / 2, 0.25};
  EXPECT_NEAR(getStep(step, p3), 17 + 0.5 + 0.25 * 0.5, kError);
}

TEST(OwnerExchangeTest, NothingWaitsWithOneRank) {
  EXPECT_NEAR(getStep(makeTwoLayers(1), {Kind::AllReduce}, 0.1, 1), 6, kError);
}

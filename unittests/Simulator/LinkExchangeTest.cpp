//===- LinkExchangeTest.cpp - collective exchange of gradients ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/LinkExchange.h"
#include "PublishedModels.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace bppsa::schedule;

/// Speed-ups over all-reduce with a barrier from an independent simulation of ResNet-50 on 16
/// workers with 0.3 s per step.
class ReverseFirstTest : public testing::Test {
protected:
  double getTime(const LinkPolicy &policy, double gigabits) const {
    return evaluate(step, getNetwork(gigabits), policy).step;
  }
  static LinkNetwork getNetwork(double gigabits) { return {16, gigabits * 1e9 / 8}; }

  LinkPolicy getPriority() const {
    LinkPolicy policy;
    policy.crossing = static_cast<int32_t>(step.size());
    policy.byPriority = true;
    return policy;
  }

  TrainingStep step = makeResNet50(0.3);
};

TEST_F(ReverseFirstTest, SpeedUpsAgree) {
  double slow = getTime(kAllReduce, 5), fast = getTime(kAllReduce, 6);
  EXPECT_NEAR(slow / getTime(getPriority(), 5), 1.33, 0.03 * 1.33);
  EXPECT_NEAR(fast / getTime(getPriority(), 6), 1.20, 0.03 * 1.20);
  int32_t reversed = searchReverseFirst(step, getNetwork(5));
  EXPECT_EQ(reversed, 47);
  EXPECT_NEAR(slow / getTime(makeReverseFirst(reversed), 5), 1.24, 0.03 * 1.24);
  reversed = searchReverseFirst(step, getNetwork(6));
  EXPECT_NEAR(fast / getTime(makeReverseFirst(reversed), 6), 1.19, 0.03 * 1.19);
}

TEST_F(ReverseFirstTest, ReversalAddsLittleToPriorities) {
  for (double gigabits : {5, 6}) {
    double without = getTime(getPriority(), gigabits), best = without;
    for (int32_t reversed = 0; reversed <= static_cast<int32_t>(step.size()); ++reversed) {
      LinkPolicy policy = getPriority();
      policy.reversed = reversed;
      best = std::min(best, getTime(policy, gigabits));
    }
    EXPECT_LE(without / best, 1.025) << gigabits;
  }
}

TEST_F(ReverseFirstTest, NothingIsGainedWithoutABarrierInTheOrderOfGradients) {
  LinkPolicy policy = getPriority();
  policy.byPriority = false;
  EXPECT_NEAR(getTime(policy, 5), getTime(kAllReduce, 5), 1e-3);
}

/// Calculated by hand: two layers of one element with 1 s each for F, B and W, at 1 byte/s between
/// two workers. The all-reduces take 4 s each, from 4 to 8 and from 8 to 12, when the next step
/// begins. With DeAR, the two all-gathers end at 10 and 12. The next forward operations start at 10
/// and 12, the first exchange at 15, and the following step at 21.
TEST(LinkExchangeTest, PhasesOverlapWithTheNextForwardPass) {
  TrainingStep step = {{1, 1, 1, {1}}, {1, 1, 1, {1}}};
  LinkNetwork network = {2, 1};
  EXPECT_NEAR(evaluate(step, network, kAllReduce).step, 12, 1e-9);
  EXPECT_NEAR(evaluate(step, network, kAllReduce).compute, 6, 1e-9);
  EXPECT_NEAR(evaluate(step, network, makeDear(2)).step, 11, 1e-9);
}

/// Calculated by hand: two elements per layer in slices of one element, 4 s each. The second slice
/// of the second layer is last, from 16 to 20. The next forward pass begins at 16 and continues at
/// 20, its slices take from 23 to 39, and the following step begins at 35.
TEST(LinkExchangeTest, UrgentSlicesOvertakeOthers) {
  TrainingStep step = {{1, 1, 1, {2}}, {1, 1, 1, {2}}};
  LinkNetwork network = {2, 1};
  EXPECT_NEAR(evaluate(step, network, kAllReduce).step, 20, 1e-9);
  EXPECT_NEAR(evaluate(step, network, makeP3(2, 1)).step, 19, 1e-9);
}

/// Calculated by hand: an all-reduce on 8 workers has 6 rounds with a latency each.
TEST(LinkExchangeTest, RoundsTakeTheLatency) {
  TrainingStep step = {{1, 1, 1, {8}}};
  LinkNetwork network = {8, 28, 0.5};
  EXPECT_NEAR(evaluate(step, network, kAllReduce).step, 3 + 2 + 3, 1e-9);
  EXPECT_NEAR(evaluate(step, network, makeP3(1, 8)).step, 3 + 2 + 1, 1e-9);
}

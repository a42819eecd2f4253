//===- ServerExchangeTest.cpp - exchange through parameter servers --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expected values are from an independent packet-level simulation of P3, which timed the fifth
// step.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/ServerExchange.h"
#include "PublishedModels.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace bppsa::schedule;

static double getTime(const TrainingStep &step, const PacketNetwork &network,
                      const ServerPolicy &policy) {
  return getServerStepTimes(step, 4, network, policy, 5).back();
}

/// Returns the throughput gain of P3 over a plain parameter server, in percent.
static double getGain(const TrainingStep &step, const PacketNetwork &network,
                      const ServerPolicy &policy = kServerP3) {
  return 100 * (getTime(step, network, kServerFifo) / getTime(step, network, policy) - 1);
}

static PacketNetwork makeNetwork(double gigabits, double messageOverhead = 0) {
  PacketNetwork network = {gigabits * 1e9 / 8};
  network.messageOverhead = messageOverhead;
  return network;
}

static ServerPolicy withSlice(int64_t elements) {
  ServerPolicy policy = kServerP3;
  policy.slice = elements;
  return policy;
}

TEST(ServerExchangeTest, ModelsHaveThePublishedSizes) {
  int64_t vgg = 0, resnet = 0;
  for (const ExchangedLayer &layer : makeVGG19(1))
    vgg += layer.getNumElements();
  for (const ExchangedLayer &layer : makeResNet50(1))
    resnet += layer.getNumElements();
  // Published: 143.67 and 25.56 million parameters with biases and normalizations.
  EXPECT_NEAR(vgg, 143.67e6, 0.05e6);
  EXPECT_NEAR(resnet, 25.56e6, 0.1e6);
}

TEST(ServerExchangeTest, GainsOfP3) {
  EXPECT_NEAR(getGain(makeVGG19(0.5), makeNetwork(5)), 52, 2);
  EXPECT_NEAR(getGain(makeVGG19(0.5), makeNetwork(15)), 39, 2);
  EXPECT_NEAR(getGain(makeResNet50(0.35), makeNetwork(4)), 28, 2);
  EXPECT_NEAR(getGain(makeResNet50(0.25), makeNetwork(4)), 43, 2);
  for (double compute : {0.25, 0.35})
    EXPECT_NEAR(getGain(makeResNet50(compute), makeNetwork(2)), (39 + 44) / 2.0, 2.5);
}

TEST(ServerExchangeTest, NothingIsGainedWhereComputationsCoverTheExchange) {
  EXPECT_NEAR(getGain(makeVGG19(0.5), makeNetwork(100)), 0, 0.1);
  EXPECT_NEAR(getGain(makeResNet50(0.35), makeNetwork(10)), 0, 0.1);
}

TEST(ServerExchangeTest, SlicesWithoutMessageCostsAreAsGoodWhateverTheirSize) {
  TrainingStep step = makeVGG19(0.5);
  double best = getGain(step, makeNetwork(15), withSlice(100000));
  EXPECT_NEAR(getGain(step, makeNetwork(15), withSlice(50000)), best, 1);
  EXPECT_NEAR(getGain(step, makeNetwork(15), withSlice(10000)), best, 1);
}

TEST(ServerExchangeTest, SlicesWithMessageCostsHaveABestSize) {
  TrainingStep step = makeVGG19(0.5);
  PacketNetwork costly = makeNetwork(15, 20e-6), costlier = makeNetwork(15, 100e-6);
  EXPECT_NEAR(getGain(step, costly, withSlice(10000)), -16, 2);
  EXPECT_NEAR(getGain(step, costly, withSlice(50000)), 37, 2);
  double best = getGain(step, costly, withSlice(100000));
  EXPECT_NEAR(best, 48, 2);
  EXPECT_LT(getGain(step, costly, withSlice(500000)), best);
  best = getGain(step, costlier, withSlice(500000));
  EXPECT_LT(getGain(step, costlier, withSlice(100000)), best);
  EXPECT_LT(getGain(step, costlier, withSlice(1000000)), best);
}

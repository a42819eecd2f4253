//===- CalibrationFitTest.cpp - fit GPU constants to measurements ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/CalibrationFit.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace bppsa::cost;

/// Counts of an RNN with 20 units.
static std::vector<ChainCost> makeChains() {
  ChainCost chain;
  chain.rows = chain.columns = 20;
  chain.savedBytes = chain.emittedBytes = 80;
  chain.of(Work::Walk) = {160, 62, 1, 30, 1};
  chain.of(Work::Column) = {249, 159, 1, 12, 8};
  chain.of(Work::Carry) = {170, 86, 1, 8, 1};
  chain.of(Work::Product) = {3760, 1620, 1, 32, 1};
  return {chain};
}

/// Draws a GPU whose constants differ from the shipped ones.
static DeviceConstants drawDevice(std::mt19937_64 &random) {
  auto draw = [&](double least, double most) {
    return least * std::pow(most / least, std::uniform_real_distribution<>()(random));
  };
  DeviceConstants device = shippedH200();
  device.launch = draw(1, 6);
  for (size_t work = 0; work < kNumWorks; ++work) {
    device.cycle[work] = draw(0.2, 2);
    device.issue[work] = draw(0.2, 2);
  }
  device.rest = draw(2, 20);
  device.restPerPosition = draw(1e-4, 1e-2);
  return device;
}

static const std::vector<int64_t> lengths = {16, 64, 256, 1024, 4096, 16384};

/// Returns times of `plans` that follow the model up to a relative error.
static std::vector<Measurement> measure(const DeviceConstants &device, double noise,
                                        std::mt19937_64 &random,
                                        const std::vector<const char *> &plans = {"", "chunked"}) {
  std::normal_distribution<> error(0, noise);
  std::vector<Measurement> measurements;
  for (int64_t steps : lengths)
    for (int64_t samples : {1, 16, 256, 4096})
      for (const char *text : plans) {
        Plan plan = *parsePlan(text);
        double time = predict(makeChains(), plan, steps, samples, device);
        measurements.push_back({plan, steps, samples, time * std::exp(error(random))});
      }
  return measurements;
}

/// Returns true if some measured pass has a phase of `work` with the bottleneck `bound`.
static bool isMeasured(Work work, Bound bound, const DeviceConstants &device,
                       const std::vector<Measurement> &measurements) {
  for (const Measurement &pass : measurements)
    for (const ChainCost &chain : makeChains())
      for (const Phase &phase : getPhases(chain, pass.plan, pass.steps, pass.samples)) {
        Bound found;
        predictPhase(phase, chain.of(phase.work), device, &found);
        if (phase.work == work && found == bound)
          return true;
      }
  return false;
}

TEST(CalibrationFitTest, FindsTheConstantsOfExactTimes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    DeviceConstants device = drawDevice(random);
    // Chunk lengths chosen from T and B depend on step costs, so a fixed length adds information.
    std::vector<Measurement> measurements =
        measure(device, 0, random, {"", "chunked", "chunked:16"});
    DeviceConstants found = fitConstants(makeChains(), measurements, shippedH200());
    EXPECT_NEAR(found.launch / device.launch, 1, 0.01) << seed;
    EXPECT_NEAR(found.rest / device.rest, 1, 0.01) << seed;
    EXPECT_NEAR(found.restPerPosition / device.restPerPosition, 1, 0.01) << seed;
    for (size_t work = 0; work < kNumWorks; ++work) {
      auto of = static_cast<Work>(work);
      if (isMeasured(of, Bound::Latency, device, measurements))
        EXPECT_NEAR(found.cycle[work] / device.cycle[work], 1, 0.01) << seed << workNames[work];
      if (isMeasured(of, Bound::Issue, device, measurements))
        EXPECT_NEAR(found.issue[work] / device.issue[work], 1, 0.01) << seed << workNames[work];
    }
  }
}

TEST(CalibrationFitTest, KeepsWhatNoMeasurementTells) {
  std::mt19937_64 random(0);
  DeviceConstants device = drawDevice(random);
  // None of these plans multiplies transitions.
  auto products = static_cast<size_t>(Work::Product);
  DeviceConstants found = fitConstants(makeChains(), measure(device, 0, random), shippedH200());
  EXPECT_NEAR(found.cycle[products], shippedH200().cycle[products], 1e-6);
  EXPECT_EQ(found.multiprocessors, shippedH200().multiprocessors);
}

TEST(CalibrationFitTest, ChoosesWithinFivePercentFromNoisyTimes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    DeviceConstants device = drawDevice(random);
    DeviceConstants found =
        fitConstants(makeChains(), measure(device, 0.02, random), shippedH200());
    for (int64_t steps : {10, 50, 100, 200, 500, 1000, 2000, 10000, 30000})
      for (int64_t samples : {1, 3, 16, 64, 500}) {
        Plan sequential = {}, chunked = *parsePlan("chunked");
        auto time = [&](Plan plan, const DeviceConstants &constants) {
          return predict(makeChains(), plan, steps, samples, constants);
        };
        Plan chosen = time(chunked, found) < time(sequential, found) ? chunked : sequential;
        double best = std::min(time(chunked, device), time(sequential, device));
        EXPECT_LE(time(chosen, device), 1.05 * best)
            << "T=" << steps << " B=" << samples << " seed=" << seed;
      }
  }
}

TEST(CalibrationFitTest, ConstantsAreNotNegative) {
  // Times that decrease with the length, as on a disturbed machine.
  std::vector<Measurement> measurements;
  for (int64_t steps : lengths)
    measurements.push_back({{}, steps, 1, 1e5 / static_cast<double>(steps)});
  DeviceConstants found = fitConstants(makeChains(), measurements, shippedH200());
  for (double constant :
       {found.launch, found.cycle[0], found.issue[0], found.rest, found.restPerPosition})
    EXPECT_GE(constant, 0);
}

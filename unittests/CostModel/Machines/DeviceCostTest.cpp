//===- DeviceCostTest.cpp - the GPU cost model ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expected times are computed by hand from the formulas of docs/Explanation/GPUCosts.md.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "gtest/gtest.h"

using namespace bppsa::cost;

/// A chain with two rows: a block step takes 100 cycles, a column step of a warp 300.
static ChainCost makeChain() {
  ChainCost chain;
  chain.rows = chain.columns = 2;
  chain.savedBytes = 8;
  chain.emittedBytes = 8;
  chain.of(Work::Walk) = {100, 50, 1, 32, 1};
  chain.of(Work::Column) = {300, 200, 1, 16, 32};
  chain.of(Work::Carry) = {400, 30, 1, 32, 1};
  chain.of(Work::Product) = {500, 60, 1, 32, 1};
  return chain;
}

/// A device with 1 GHz (one cycle per nanosecond), ten multiprocessors, launches of 2 us, and 1
/// GB/s.
static DeviceConstants makeDevice() {
  DeviceConstants device;
  device.multiprocessors = 10;
  device.bandwidth = 1e6;
  device.launch = 2;
  device.cycle.fill(1);
  device.issue.fill(1);
  return device;
}

static double predictFor(const char *plan, int64_t steps, int64_t samples) {
  return predict({makeChain()}, *parsePlan(plan), steps, samples, makeDevice());
}

TEST(DeviceCostTest, OneSampleWaitsForItsSteps) {
  // 1000 steps of 0.1 us.
  EXPECT_DOUBLE_EQ(predictFor("", 1000, 1), 2 + 100);
  EXPECT_DOUBLE_EQ(predictFor("linear", 1000, 1), 2 + 100);
}

TEST(DeviceCostTest, ChunksAreThreePhases) {
  // 10 chunks: 9 transitions of 100 steps, 9 carries, and 100 steps again.
  EXPECT_DOUBLE_EQ(predictFor("chunked:100", 1000, 1), 3 * 2 + 30 + 9 * 0.4 + 10);
  // The whole length is one chunk: the seeds are copied, and no transition is computed.
  EXPECT_DOUBLE_EQ(predictFor("chunked:1000", 1000, 1), 2 * 2 + 100);
}

TEST(DeviceCostTest, ManySamplesWaitForInstructionsOrForPlaces) {
  // 40 schedulers: with 320 samples, each has 8 warps and issues 8 * 50 instructions per step.
  EXPECT_DOUBLE_EQ(predictFor("", 1000, 320), 2 + 400);
  // With one resident block per multiprocessor, there are 32 rounds.
  ChainCost chain = makeChain();
  chain.of(Work::Walk).resident = 1;
  EXPECT_DOUBLE_EQ(predict({chain}, {}, 1000, 320, makeDevice()), 2 + 3200);
  // 16 bytes per step and sample at 1 byte per microsecond.
  DeviceConstants slow = makeDevice();
  slow.bandwidth = 1;
  EXPECT_DOUBLE_EQ(predict({makeChain()}, {}, 1000, 1, slow), 2 + 16000);
}

TEST(DeviceCostTest, ChunksAreAsLongAsWorkOrWaitingIs) {
  // One sample is bound by latency: sqrt(T * 400 / (300 + 100)). Two columns occupy a
  // multiprocessor for 2 / 32 * 200 / 4 = 3.125 cycles per step; with many samples, 132 of them
  // take 400 cycles per step.
  ChunkRule rule = getChunkRule(makeChain());
  EXPECT_EQ(rule.apply(1000, 1), 31);
  EXPECT_EQ(rule.apply(100, 1000), 10);
  EXPECT_EQ(rule.apply(100, 5000), 29);
  EXPECT_EQ(rule.apply(10, 1), 8);
  EXPECT_EQ(rule.apply(100000, 1), 64);
  EXPECT_DOUBLE_EQ(predictFor("chunked", 1000, 1), predictFor("chunked:31", 1000, 1));
}

TEST(DeviceCostTest, ATreeHasTwoLaunchesForEachLevel) {
  // For 8 links: leaves, 3 up-sweep levels, seeds and the only root, which has no product, 2
  // down-sweep levels (the third only has the first pair), and emitted values by a block of 8
  // steps.
  double launches = 1 + 3 + 2 + 2 + 1;
  EXPECT_DOUBLE_EQ(predictFor("blelloch", 8, 1), launches * 2 + 0.3 + 3 * 0.5 + 2 * 0.4 + 8 * 0.1);
  // One level leaves four roots, of which the first has no product.
  EXPECT_DOUBLE_EQ(predictFor("hybrid:1", 8, 1), 6 * 2 + 0.3 + 0.5 + 0.4 + 3 * 0.4 + 8 * 0.1);
}

TEST(DeviceCostTest, OffsetsAreWalkedByBlocks) {
  ChainCost chain = makeChain();
  chain.hasOffset = true;
  EXPECT_DOUBLE_EQ(predict({chain}, *parsePlan("chunked:100"), 1000, 1, makeDevice()),
                   predictFor("chunked:100", 1000, 1) + 2 + 10);
}

TEST(DeviceCostTest, ChainsFollowEachOther) {
  EXPECT_DOUBLE_EQ(predict({makeChain(), makeChain()}, {}, 1000, 1, makeDevice()), 2 * (2 + 100));
}

TEST(DeviceCostTest, ReadsPlans) {
  EXPECT_EQ(parsePlan("chunked")->size, 0);
  EXPECT_EQ(parsePlan("auto")->kind, Plan::Kind::Chunked);
  EXPECT_EQ(parsePlan("hybrid:0")->kind, Plan::Kind::Sequential);
  for (const char *wrong : {"tree", "chunked:", "chunked:x", "chunked:-1", "hybrid:99999999999"})
    EXPECT_FALSE(parsePlan(wrong)) << wrong;
}

TEST(DeviceShapesTest, ChunksGrowWithTheRoot) {
  for (auto [steps, chunk] :
       {std::pair<int64_t, int64_t>{1, 8}, {1000, 22}, {5000, 50}, {30000, 64}})
    EXPECT_EQ(kCpuChunkRule.apply(steps, /*samples=*/7), chunk);
}

TEST(DeviceShapesTest, RowsAreSharedUntilTheyFit) {
  // An RNN and an LSTM of 64 units, and a GRU of 128 units, whose rows never fit.
  EXPECT_EQ(shareRows(64, {64})->threads, 64);
  EXPECT_EQ(shareRows(64, {64, 64, 64, 64})->parts, 2);
  EXPECT_EQ(shareRows(20, {80}, {80})->parts, 1);
  EXPECT_EQ(shareRows(20, {80}, {81})->parts, 2);
  EXPECT_FALSE(shareRows(128, {128, 128, 128, 128, 128, 128, 128, 128, 128}));
}

TEST(DeviceShapesTest, ColumnsAreSharedUntilTheirMatricesFit) {
  // An RNN, a GRU and an LSTM; without sharing, one thread has all rows.
  EXPECT_EQ(shareColumn({{10, 10}}, true).parts, 1);
  EXPECT_EQ(shareColumn({{20, 20}}, true).entries, 100);
  EXPECT_EQ(shareColumn({{20, 20}, {20, 20}, {20, 20}}, true).parts, 8);
  EXPECT_EQ(shareColumn({{10, 10}, {10, 10}, {10, 10}, {10, 10}}, true).parts, 4);
  EXPECT_FALSE(shareColumn({{20, 20}}, false).inRegisters);
  EXPECT_FALSE(shareColumn({{20, 20}, {20, 20}, {20, 20}, {20, 20}}, true).inRegisters);
}

TEST(DeviceShapesTest, InputsAreTakenOutWhereRowsAreSharedByFewer) {
  // GRUs: 20 units with 12 and 40 inputs, and 64 units with 12 and 64 inputs.
  EXPECT_FALSE(shouldHoistInputs(20, {12, 12, 12}, {20, 20, 20}));
  EXPECT_TRUE(shouldHoistInputs(20, {40, 40, 40}, {20, 20, 20}));
  EXPECT_FALSE(shouldHoistInputs(64, {12, 12, 12}, {64, 64, 64}));
  EXPECT_TRUE(shouldHoistInputs(64, {64, 64, 64}, {64, 64, 64}));
  // Rows that do not fit: an RNN with 600 inputs, and a GRU of 128 units with one input.
  EXPECT_TRUE(shouldHoistInputs(130, {600}, {130}));
  EXPECT_TRUE(shouldHoistInputs(128, {1, 1, 1}, {128, 128, 128}));
  EXPECT_FALSE(shouldHoistInputs(128, {}, {128, 128, 128}));
}

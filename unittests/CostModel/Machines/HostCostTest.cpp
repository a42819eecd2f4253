//===- HostCostTest.cpp - bounds of passes on a CPU -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/HostCost.h"
#include "gtest/gtest.h"

using namespace bppsa::cost;

/// Operation counts of a recurrent layer with `hidden` units and `gates` gates.
static HostChain makeLayer(int64_t hidden, int64_t gates, int64_t states) {
  HostChain chain;
  chain.rows = chain.columns = states * hidden;
  chain.columnOperations = gates * hidden * (hidden + 1);
  chain.linkOperations = chain.columnOperations + gates * hidden;
  chain.depth = (hidden + 7) / 8 * gates * hidden + 10;
  chain.bytes = 4 * (gates + states) * hidden;
  return chain;
}

static bool mayWin(const std::vector<HostChain> &chains, const char *plan, int64_t steps,
                   int64_t samples, HostMachine machine) {
  return getMinCycles(chains, *parsePlan(plan), steps, samples, machine) <
         getMaxSequentialCycles(chains, steps, samples, machine);
}

/// Computed by hand: 10 operations at two per cycle with one register per row of 16 samples, 3
/// dependent operations of 5 cycles, and 8 bytes for each of 16 samples at four per cycle.
TEST(HostCostTest, CountsCycles) {
  HostChain chain;
  chain.rows = chain.columns = 2;
  chain.linkOperations = 10;
  chain.columnOperations = 4;
  chain.depth = 3;
  chain.bytes = 8;
  double link = 5 + 15 + 32;
  EXPECT_DOUBLE_EQ(getMaxSequentialCycles({chain}, 100, 16, {1, 16}), 100 * link);
  EXPECT_DOUBLE_EQ(getMaxSequentialCycles({chain}, 100, 33, {2, 16}), 2 * 100 * link);
  EXPECT_DOUBLE_EQ(getMaxSequentialCycles({chain, chain}, 100, 16, {1, 16}), 2 * 100 * link);
  // Four registers per row.
  EXPECT_DOUBLE_EQ(getMaxSequentialCycles({chain}, 100, 16, {1, 4}), 100 * (link + 15));
  // Ten chunks of ten steps: the first chunk, eight transitions with two columns and as many
  // products with two rows and columns, and nine chunks from their carries.
  EXPECT_DOUBLE_EQ(getMinCycles({chain}, *parsePlan("chunked:10"), 100, 16, {1, 16}),
                   8 * 10 * 2 * 2 + 8 * 2 + 100 * link);
  EXPECT_DOUBLE_EQ(getMinCycles({chain}, *parsePlan("chunked:10"), 100, 16, {5, 16}),
                   8 * 10 * 2 * 2 / 5.0 + 8 * 2 + (10 + 18) * link);
  EXPECT_DOUBLE_EQ(getMinCycles({chain}, *parsePlan("linear"), 100, 16, {5, 16}), 100 * link);
}

/// Vectors of units: 10 operations fill 10/16 of a register, and each of 6 vector operations may
/// leave a register partly empty.
TEST(HostCostTest, CountsCyclesOfSmallBatches) {
  HostChain chain;
  chain.rows = chain.columns = 2;
  chain.linkOperations = 10;
  chain.columnOperations = 4;
  chain.unitOperations = 6;
  chain.unitDepth = 3;
  chain.bytes = 8;
  double link = (10 / 16.0 + 6) / 2 + 15 + 2;
  EXPECT_DOUBLE_EQ(getMaxUnitCycles({chain}, 100, 1, {1, 16}), 100 * link);
  EXPECT_DOUBLE_EQ(getMaxUnitCycles({chain}, 100, 3, {2, 16}), 2 * 100 * link);
  // Nine chunks of ten steps in one group of lanes: transitions with two columns and one link per
  // step. Then the last chunk, over units, and the carries of the others.
  double perStep = (2 * 4 + 10) / 2.0, last = 10 * 10 / 32.0, carries = 9 * 4 / 32.0;
  EXPECT_DOUBLE_EQ(getMinChunkCycles({chain}, *parsePlan("chunked:10"), 100, 1, {1, 16}),
                   10 * perStep + last + carries);
  // 18 rows take two groups.
  EXPECT_DOUBLE_EQ(getMinChunkCycles({chain}, *parsePlan("chunked:10"), 100, 2, {1, 16}),
                   2 * (10 * perStep + last + carries));
}

TEST(HostCostTest, ChunksMayWinWhereStatesAreSmall) {
  for (int64_t hidden : {4, 64}) {
    HostChain chain = makeLayer(hidden, 3, 1);
    chain.unitOperations = 3 * hidden + 20;
    chain.unitDepth = hidden + 20;
    EXPECT_EQ(canChunkedScanWin({chain}), hidden == 4) << hidden;
  }
}

TEST(HostCostTest, ScansNeedThreadsThatSamplesLeave) {
  std::vector<HostChain> lstms = {makeLayer(128, 4, 2), makeLayer(128, 4, 2)};
  for (const char *plan : {"auto", "chunked:32", "blelloch", "hybrid:2", "linear"}) {
    // One group of samples per thread, and the possible gain of two cores with one group.
    for (int64_t samples : {1, 16, 32, 1000})
      for (int64_t lanes : {4, 8, 16})
        EXPECT_FALSE(mayWin(lstms, plan, 128, samples, {2, lanes})) << plan << samples;
    EXPECT_FALSE(mayWin({makeLayer(20, 1, 1)}, plan, 1000, 16, {2, 16})) << plan;
    EXPECT_FALSE(mayWin({makeLayer(1, 1, 1)}, plan, 1000, 64, {4, 16})) << plan;
    EXPECT_FALSE(mayWin({makeLayer(1, 1, 1)}, plan, 1000, 16, {1, 16})) << plan;
  }
}

TEST(HostCostTest, ScansMayWinWithManyThreads) {
  for (const char *plan : {"auto", "chunked:32", "blelloch"}) {
    EXPECT_TRUE(mayWin({makeLayer(20, 1, 1)}, plan, 1000, 16, {256, 16})) << plan;
    EXPECT_FALSE(mayWin({makeLayer(20, 1, 1)}, plan, 1000, 4096, {256, 16})) << plan;
  }
  // A single chunk is the sequential pass.
  EXPECT_FALSE(mayWin({makeLayer(20, 1, 1)}, "chunked:32", 32, 16, {256, 16}));
}

/// A scan of diagonals does only twice the work, so it may win with two threads.
TEST(HostCostTest, ScansOfDiagonalsMayWin) {
  HostChain chain = makeLayer(64, 1, 1);
  chain.columns = 1;
  chain.columnOperations = 64;
  EXPECT_TRUE(mayWin({chain}, "auto", 1000, 16, {4, 16}));
  EXPECT_FALSE(mayWin({chain}, "auto", 1000, 64, {4, 16}));
}

TEST(HostCostTest, SamplesShareMatricesThatLeaveTheCache) {
  EXPECT_EQ(getNumGroups(1), 1);
  EXPECT_EQ(getNumGroups(16), 1);
  EXPECT_EQ(getNumGroups(17), 2);
  HostChain small, large;
  small.linkOperations = 8192;
  large.linkOperations = 8193;
  EXPECT_FALSE(sharesMatricesAcrossSamples({small}, {2, 16}));
  EXPECT_TRUE(sharesMatricesAcrossSamples({small, large}, {2, 16}));
  EXPECT_TRUE(sharesMatricesAcrossSamples({large}, {2, 8}));
  EXPECT_FALSE(sharesMatricesAcrossSamples({large}, {2, 4}));
  EXPECT_FALSE(sharesMatricesAcrossSamples({}, {2, 16}));
}

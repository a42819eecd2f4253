//===- RandomTest.cpp - Random numbers and the order of samples -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Random.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace bppsa::runtime;

TEST(RandomTest, SplitMix64) {
  // The first numbers for seed 1234567, as published with the algorithm.
  Random random(1234567);
  for (uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u})
    EXPECT_EQ(random.next(), expected);
}

TEST(RandomTest, BelowStaysBelowAndReachesEverything) {
  Random random(1);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i)
    seen.insert(random.below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(RandomTest, OrderIsAPermutationOfItsOwnForEachSeedAndEpoch) {
  std::set<std::vector<int64_t>> orders;
  for (uint64_t seed : {0, 1, 2})
    for (int64_t epoch : {0, 1, 2}) {
      std::vector<int64_t> order = shuffledOrder(seed, epoch, 50);
      EXPECT_EQ(order, shuffledOrder(seed, epoch, 50));
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (int64_t i = 0; i < 50; ++i)
        EXPECT_EQ(order[i], i);
    }
  EXPECT_EQ(orders.size(), 9u);
}

TEST(RandomTest, OrderByBlocks) {
  // Every third of 300 samples in blocks of 30, so ten samples per block, shuffled in groups of
  // four blocks.
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < 300; i += 3)
    samples.push_back(i);
  std::vector<int64_t> order = blockwiseOrder(1, 2, samples, 30, 4), sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, samples);
  std::vector<std::set<int64_t>> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i % 40 == 0)
      groups.emplace_back();
    groups.back().insert(order[i] / 30);
  }
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].size(), 4u);
  EXPECT_EQ(groups[1].size(), 4u);
  EXPECT_EQ(groups[2].size(), 2u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + 10));
  EXPECT_NE(order, blockwiseOrder(1, 3, samples, 30, 4));

  std::vector<int64_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(blockwiseOrder(5, 1, all, 50, 1), shuffledOrder(5, 1, 50));
}

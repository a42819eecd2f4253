//===- RandomTest.cpp - random numbers and the order of samples -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Random.h"
#include "gtest/gtest.h"

#include <algorithm>
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

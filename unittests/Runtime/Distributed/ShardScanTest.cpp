//===- ShardScanTest.cpp - Tests of the scan over time shards -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "MemoryNetwork.h"
#include "Updates/TimeShard.h"
#include "gtest/gtest.h"

#include <random>

using namespace bppsa::runtime;
using memory::onRanks;

namespace {
/// Affine maps of some samples. Their entries are small integers, so products are exact.
struct Maps {
  Maps(int64_t samples, int64_t size, unsigned seed)
      : samples(samples), size(size), matrix(samples * size * size), own(samples * size) {
    std::mt19937 random(seed);
    for (std::vector<float> *values : {&matrix, &own})
      for (float &value : *values)
        value = static_cast<float>(static_cast<int>(random() % 5) - 2);
  }

  /// Applies the map of each sample to its cotangent in `from`.
  std::vector<float> apply(const std::vector<float> &from) const {
    std::vector<float> to = own;
    for (int64_t b = 0; b < samples; ++b)
      for (int64_t column = 0; column < size; ++column)
        for (int64_t row = 0; row < size; ++row)
          to[b * size + row] += matrix[(b * size + column) * size + row] * from[b * size + column];
    return to;
  }

  /// Returns the columns of the matrix and the offset of each sample.
  std::vector<float> whole() const {
    std::vector<float> all;
    for (int64_t b = 0; b < samples; ++b) {
      all.insert(all.end(), &matrix[b * size * size], &matrix[b * size * size] + size * size);
      all.insert(all.end(), &own[b * size], &own[b * size] + size);
    }
    return all;
  }

  int64_t samples, size;
  std::vector<float> matrix, own;
};
} // namespace

TEST(ShardScan, AComposedMapIsOneAfterTheOther) {
  Maps first(3, 4, 1), second(3, 4, 2), cotangents(3, 4, 3);
  std::vector<float> both = second.whole();
  composeMaps(first.whole().data(), both.data(), 3, 4);
  Maps composed(3, 4, 0);
  for (int64_t b = 0; b < 3; ++b) {
    std::copy_n(&both[b * floatsOfMap(4)], 16, &composed.matrix[b * 16]);
    std::copy_n(&both[b * floatsOfMap(4) + 16], 4, &composed.own[b * 4]);
  }
  std::vector<float> expected = second.apply(first.apply(cotangents.own));
  EXPECT_EQ(composed.apply(cotangents.own), expected);
  // Composition does not commute.
  EXPECT_NE(first.apply(second.apply(cotangents.own)), expected);
}

TEST(ShardScan, IsForManyRanksAndSmallStates) {
  // A loop with state size 1: 3 applications, versus one per rank.
  EXPECT_FALSE(isScanCheaper({1}, 3, 1));
  EXPECT_TRUE(isScanCheaper({1}, 4, 1));
  // Two loops with state sizes 4 and 2: 10 applications, versus 2 + P - 1.
  EXPECT_FALSE(isScanCheaper({4, 2}, 9, 1));
  EXPECT_TRUE(isScanCheaper({4, 2}, 10, 1));
  // Microbatches are pipelined through the ranks: 3 * 3 applications, versus 3 + P - 1.
  EXPECT_FALSE(isScanCheaper({1}, 7, 3));
  EXPECT_TRUE(isScanCheaper({1}, 8, 3));
  EXPECT_FALSE(isScanCheaper({}, 100, 1));
}

/// The first 3 of 4 ranks have shards. Scans of both directions and several batches follow without
/// pause.
TEST(ShardScan, GivesWhatTheSharesBehindMake) {
  constexpr int count = 4, shares = 3, batches = 3;
  auto mapsOf = [](int rank, int batch, bool isReverse) {
    return Maps(batch + 1, 3, 100 * rank + 10 * batch + isReverse);
  };
  onRanks(count, {}, [&](Ranks &ranks) {
    ranks.prepareScans(shares);
    if (ranks.rank() >= shares)
      return;
    ShardMessages messages(ranks, shares, {});
    for (int batch = 0; batch < batches; ++batch)
      for (bool isReverse : {true, false}) {
        Maps own = mapsOf(ranks.rank(), batch, isReverse);
        std::vector<float> found(own.own.size(), 7);
        messages.scan(
            {own.matrix.data(), own.own.data(), found.data(), own.samples, own.size, isReverse});
        std::vector<float> expected(found.size());
        int end = isReverse ? 0 : shares - 1, step = isReverse ? 1 : -1;
        for (int rank = end; rank != ranks.rank(); rank += step)
          expected = mapsOf(rank, batch, isReverse).apply(expected);
        EXPECT_EQ(found, expected) << ranks.rank() << " " << batch << " " << isReverse;
      }
  });
}

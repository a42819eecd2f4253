//===- Random.cpp - Random numbers ----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Random.h"

#include <cstddef>
#include <numeric>
#include <utility>

using namespace bppsa::runtime;

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t Random::below(uint64_t bound) {
  uint64_t reject = (0 - bound) % bound;
  uint64_t value;
  do
    value = next();
  while (value < reject);
  return value % bound;
}

float Random::symmetric() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }

static Random ofEpoch(uint64_t seed, int64_t epoch) {
  return Random(Random(Random(seed).next() + epoch).next());
}

template <typename Value> static void shuffle(Random &random, Value *values, int64_t count) {
  for (int64_t last = count - 1; last > 0; --last)
    std::swap(values[last], values[random.below(last + 1)]);
}

std::vector<int64_t> bppsa::runtime::shuffledOrder(uint64_t seed, int64_t epoch, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Random random = ofEpoch(seed, epoch);
  shuffle(random, order.data(), count);
  return order;
}

std::vector<int64_t> bppsa::runtime::blockwiseOrder(uint64_t seed, int64_t epoch,
                                                    const std::vector<int64_t> &samples,
                                                    int64_t block, int64_t together) {
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i] / block != samples[i - 1] / block)
      ranges.push_back({i, i});
    ranges.back().end = i + 1;
  }
  Random random = ofEpoch(seed, epoch);
  if (ranges.size() > 1)
    shuffle(random, ranges.data(), static_cast<int64_t>(ranges.size()));
  std::vector<int64_t> order;
  order.reserve(samples.size());
  std::size_t shuffled = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    order.insert(order.end(), samples.begin() + static_cast<int64_t>(ranges[i].begin),
                 samples.begin() + static_cast<int64_t>(ranges[i].end));
    if ((i + 1) % together != 0 && i + 1 != ranges.size())
      continue;
    shuffle(random, order.data() + shuffled, static_cast<int64_t>(order.size() - shuffled));
    shuffled = order.size();
  }
  return order;
}

uint64_t bppsa::runtime::stepSeed(uint64_t seed, int64_t step) {
  Random random(seed);
  random.next();
  return Random(random.next() + step).next();
}

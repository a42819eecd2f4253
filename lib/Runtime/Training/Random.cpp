//===- Random.cpp - Random numbers ----------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Random.h"

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

std::vector<int64_t> bppsa::runtime::shuffledOrder(uint64_t seed, int64_t epoch, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Random random(Random(Random(seed).next() + epoch).next());
  for (int64_t last = count - 1; last > 0; --last)
    std::swap(order[last], order[random.below(last + 1)]);
  return order;
}

uint64_t bppsa::runtime::stepSeed(uint64_t seed, int64_t step) {
  Random random(seed);
  random.next();
  return Random(random.next() + step).next();
}

// Prints how many sigmoids one thread evaluates in a nanosecond. Hyperbolic tangents take as long.
//
// Part of the bppsa project, under the MIT License.

#include "vector.h"

#include <chrono>
#include <cstdio>

int main() {
  // Enough vectors that none waits for another.
  constexpr int vectors = 8;
  constexpr long rounds = 5'000'000;
  Vec values[vectors] = {};
  auto begin = std::chrono::steady_clock::now();
  for (long round = 0; round < rounds; ++round)
    for (Vec &value : values) {
      value = vsigmoid(value);
      asm volatile("" : "+v"(value));
    }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%f\n", 1e-9 * kLanes * vectors * rounds / seconds.count());
}

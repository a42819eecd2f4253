// Prints how many GFLOP/s of fused multiply-adds on vectors one thread starts.
//
// Part of the bppsa project, under the MIT License.

#include <chrono>
#include <cstdio>

#ifdef __AVX512F__
constexpr int width = 16;
#else
constexpr int width = 8;
#endif
using Vector = float __attribute__((vector_size(width * sizeof(float))));

int main() {
  // More sums than multiply-adds that wait for each other.
  constexpr int sums = 12;
  constexpr long rounds = 50'000'000;
  Vector sum[sums] = {}, factor = {};
  factor += 1e-9f;
  auto begin = std::chrono::steady_clock::now();
  for (long round = 0; round < rounds; ++round)
    for (int i = 0; i < sums; ++i) {
      sum[i] = sum[i] * factor + factor;
      asm volatile("" : "+v"(sum[i]));
    }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%f\n", 2.0 * width * sums * rounds / seconds.count() / 1e9);
}

//===- ShardScan.cpp - Scan of time shard cotangents over ranks -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/ShardScan.h"

#include <algorithm>

using namespace bppsa::runtime;

void bppsa::runtime::composeMaps(const float *first, float *second, int64_t samples, int64_t size) {
  std::vector<float> old(floatsOfMap(size));
  std::vector<double> sums(size);
  for (int64_t sample = 0; sample < samples; ++sample) {
    std::copy_n(second, old.size(), old.begin());
    for (int64_t column = 0; column <= size; ++column) {
      const float *entries = first + column * size;
      // The new offset is A2 s1 + s2.
      if (column == size)
        std::copy_n(&old[size * size], size, sums.begin());
      else
        std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t k = 0; k < size; ++k)
        for (int64_t row = 0; row < size; ++row)
          sums[row] += static_cast<double>(old[k * size + row]) * entries[k];
      std::transform(sums.begin(), sums.end(), second + column * size,
                     [](double sum) { return static_cast<float>(sum); });
    }
    first += floatsOfMap(size);
    second += floatsOfMap(size);
  }
}

bool bppsa::runtime::isScanCheaper(const std::vector<int64_t> &sizes, int64_t shares,
                                   int64_t microbatches) {
  int64_t scanned = 0;
  for (int64_t size : sizes)
    scanned += size + 2;
  int64_t loops = static_cast<int64_t>(sizes.size());
  return loops > 0 && microbatches * scanned < microbatches * loops + shares - 1;
}

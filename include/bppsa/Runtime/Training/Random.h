//===- Random.h - Random numbers ------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_RANDOM_H
#define BPPSA_RUNTIME_TRAINING_RANDOM_H

#include <cstdint>
#include <vector>

namespace bppsa::runtime {

/// SplitMix64 (Steele, Lea, Flood 2014); equal on all machines.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Uniform in [0, bound), without bias.
  uint64_t below(uint64_t bound);
  /// Uniform in [-1, 1).
  float symmetric();

private:
  uint64_t state;
};

/// Shuffles `count` samples for epoch `epoch` (from 0) by Fisher-Yates. Depends only on its
/// arguments, so that training can resume at any batch.
std::vector<int64_t> shuffledOrder(uint64_t seed, int64_t epoch, int64_t count);

/// Shuffles blocks of `block` consecutive indices, then the samples within each group of `together`
/// blocks. Depends only on its arguments; equals shuffledOrder() if one block holds all samples.
std::vector<int64_t> blockwiseOrder(uint64_t seed, int64_t epoch,
                                    const std::vector<int64_t> &samples, int64_t block,
                                    int64_t together);

/// Returns a seed for step `step` (from 0), independent of shuffling.
uint64_t stepSeed(uint64_t seed, int64_t step);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_RANDOM_H

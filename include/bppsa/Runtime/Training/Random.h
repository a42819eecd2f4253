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

/// SplitMix64 (Steele, Lea, Flood 2014): the state advances by 0x9e3779b97f4a7c15 and is mixed by
/// two xor-shift-multiply rounds. The same seed gives the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// Uniform in [0, bound). Biased values are rejected and drawn again.
  uint64_t below(uint64_t bound);
  /// Uniform in [-1, 1).
  float symmetric();

private:
  uint64_t state;
};

/// Returns the order of `count` samples in epoch `epoch` (from 0): a Fisher-Yates shuffle by a
/// Random seeded with the first number of Random(seed) plus `epoch`, mixed again. Depends on
/// nothing else, so that training can be resumed at any batch.
std::vector<int64_t> shuffledOrder(uint64_t seed, int64_t epoch, int64_t count);

/// Returns the order of the sorted `samples` in epoch `epoch`, shuffled by blocks of `block`
/// consecutive sample indices: first the blocks, then the samples within each group of `together`
/// blocks. Depends only on its arguments. Equals shuffledOrder() if one block holds all samples.
std::vector<int64_t> blockwiseOrder(uint64_t seed, int64_t epoch,
                                    const std::vector<int64_t> &samples, int64_t block,
                                    int64_t together);

/// Returns the seed for randomness within step `step` (from 0), independent of the shuffling.
uint64_t stepSeed(uint64_t seed, int64_t step);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_RANDOM_H

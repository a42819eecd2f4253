//===- ChunkRule.h - lengths of chunks of time ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H
#define BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H

#include <cstdint>

namespace bppsa::cost {

/// Bounds of a chunk length chosen at run time. Long products of Jacobians can overflow or vanish
/// where the chain itself does neither.
inline constexpr int64_t kShortestChunk = 8, kLongestChunk = 64;

/// Steps of a chunk where the plan leaves them open, for T steps of B samples:
/// max(sqrt(ofSteps * T), ofWork * T * B), rounded down and within the bounds.
struct ChunkRule {
  double ofSteps = 0, ofWork = 0;

  int64_t apply(int64_t steps, int64_t samples) const;

  /// The formula in an `arithmetic` that computes numbers, or emits code that does. `samples` is
  /// not looked at where `ofWork` is zero.
  template <typename Arithmetic>
  auto applyIn(Arithmetic arithmetic, typename Arithmetic::Size steps,
               typename Arithmetic::Size samples) const {
    auto length = arithmetic.toReal(steps);
    auto chosen = arithmetic.roundDown(arithmetic.sqrt(arithmetic.scale(length, ofSteps)));
    if (ofWork != 0) {
      auto positions = arithmetic.multiply(length, arithmetic.toReal(samples));
      chosen = arithmetic.larger(chosen, arithmetic.roundDown(arithmetic.scale(positions, ofWork)));
    }
    return arithmetic.clamp(chosen, kShortestChunk, kLongestChunk);
  }
};

/// On a CPU about sqrt(T / 2), so that with a worker for each chunk making the maps takes as long
/// as carrying across them.
inline constexpr ChunkRule kCpuChunkRule = {/*ofSteps=*/0.5, /*ofWork=*/0};

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H

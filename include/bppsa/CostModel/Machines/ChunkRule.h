//===- ChunkRule.h - chunk lengths ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H
#define BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H

#include <cstdint>

namespace bppsa::cost {

/// Bounds of a chunk length chosen at run time. Long products of Jacobians can overflow or vanish.
inline constexpr int64_t kShortestChunk = 8, kLongestChunk = 64;

/// Chunk length for T steps and B samples: max(sqrt(ofSteps * T), ofWork * T * B), clamped to the
/// bounds.
struct ChunkRule {
  double ofSteps = 0, ofWork = 0;

  int64_t apply(int64_t steps, int64_t samples) const;

  /// `arithmetic` either computes values or emits code.
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

/// About sqrt(T / 2): with one worker per chunk, aggregating the chunks then takes as long as
/// carrying across them.
inline constexpr ChunkRule kCpuChunkRule = {/*ofSteps=*/0.5, /*ofWork=*/0};

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_CHUNKRULE_H

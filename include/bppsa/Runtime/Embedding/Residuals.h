//===- Residuals.h - Caller-owned residual memory ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H
#define BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"

#include <cstdint>

namespace bppsa::runtime {

/// Identifies the forward pass; the residuals follow.
struct alignas(64) ResidualHeader {
  static constexpr uint64_t started = 0x6c61756469736573, complete = 0x6c61756469736572;

  uint64_t state;
  /// The checksum of the model, and the index of the variant.
  uint32_t program, variant;
  /// A checksum of all symbol values.
  uint64_t sizes;
  uint64_t bytes;
  /// Zero, so that equal calls write equal bytes.
  uint8_t zeros[32] = {};
};

/// Caller-owned memory, which may move between forward and backward pass.
class ResidualBlock {
public:
  /// Throws Error if `memory` is not a contiguous byte array.
  explicit ResidualBlock(const ArrayArgument &memory);

  void requireSize(uint64_t wanted) const;
  /// Throws if no forward pass has completed or the block is too small.
  ResidualHeader finishedHeader() const;
  void setHeader(const ResidualHeader &header);
  std::byte *data() const { return memory + sizeof(ResidualHeader); }

private:
  std::byte *memory;
  uint64_t size;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

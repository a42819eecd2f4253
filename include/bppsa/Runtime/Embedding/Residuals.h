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

/// The header of a block of residuals, which identifies the forward pass. The residuals written by
/// compiled functions follow.
struct alignas(64) ResidualHeader {
  /// States of a forward pass that has started, or completed.
  static constexpr uint64_t started = 0x6c61756469736573, complete = 0x6c61756469736572;

  uint64_t state;
  /// The checksum of the program's model, and the index of the variant.
  uint32_t program, variant;
  /// Of the values of all symbols.
  uint64_t sizes;
  /// The size of the residuals after the header.
  uint64_t bytes;
  /// Padding, zeroed so that equal calls write equal bytes.
  uint8_t zeros[32] = {};
};

/// Caller-owned memory for residuals. Its bytes may be moved between the forward and backward pass.
class ResidualBlock {
public:
  /// Throws Error if `memory` is not a contiguous byte array.
  explicit ResidualBlock(const ArrayArgument &memory);

  void requireSize(uint64_t wanted) const;
  /// Returns the header of a completed forward pass. Throws if the block holds none or is too small
  /// for its residuals.
  ResidualHeader finishedHeader() const;
  void setHeader(const ResidualHeader &header);
  std::byte *data() const { return memory + sizeof(ResidualHeader); }

private:
  std::byte *memory;
  uint64_t size;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

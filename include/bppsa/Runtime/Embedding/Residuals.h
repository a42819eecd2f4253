//===- Residuals.h - what a backward pass reads -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H
#define BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"

#include <cstdint>

namespace bppsa::runtime {

/// What a block of residuals begins with: of which forward pass it is. What compiled functions
/// write is behind it.
struct alignas(64) ResidualHeader {
  /// Of a forward pass that has begun, and of one that has ended.
  static constexpr uint64_t started = 0x6c61756469736573, complete = 0x6c61756469736572;

  uint64_t state;
  /// The checksum of the program's model, and the number of the variant.
  uint32_t program, variant;
  /// A hash of the values of all symbols.
  uint64_t sizes;
  /// What the forward pass has written behind the header.
  uint64_t bytes;
  /// So that equal calls write equal bytes.
  uint8_t zeros[32] = {};
};

/// Memory of a caller for residuals: bytes, which may be moved as a whole between forward and
/// backward pass.
class ResidualBlock {
public:
  /// Throws Error where `memory` is no compact array of bytes.
  explicit ResidualBlock(const ArrayArgument &memory);

  /// Throws Error where `wanted` bytes behind the header are more than there are.
  void requireSize(uint64_t wanted) const;
  /// The header of a forward pass that has ended. Throws Error where there is none, or not all that
  /// it has written.
  ResidualHeader finishedHeader() const;
  void setHeader(const ResidualHeader &header);
  std::byte *data() const { return memory + sizeof(ResidualHeader); }

private:
  std::byte *memory;
  uint64_t size;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

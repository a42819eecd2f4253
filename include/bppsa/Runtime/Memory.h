//===- Memory.h - Aligned memory and the allocator of compiled code -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_MEMORY_H
#define BPPSA_RUNTIME_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace bppsa::runtime {

/// Zero-filled memory, aligned to 64 bytes; never null.
class Buffer {
public:
  explicit Buffer(size_t size = 0);
  static Buffer uninitialized(size_t size);
  /// Memory owned by the caller, which must outlive the buffer.
  static Buffer borrow(void *bytes, size_t size);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;

  std::byte *data() { return bytes; }
  const std::byte *data() const { return bytes; }
  size_t size() const { return length; }
  float *floats() { return reinterpret_cast<float *>(bytes); }
  const float *floats() const { return reinterpret_cast<const float *>(bytes); }

private:
  std::byte *bytes;
  size_t length;
  bool isBorrowed = false;
};

/// Allocator of compiled code. Thread-safe. Free lists keep freed blocks, so repeated steps touch
/// no new pages.
void *allocateBlock(size_t alignment, size_t size);
void freeBlock(void *block);

uint64_t liveBytes();
uint64_t peakBytes();
void resetPeakBytes();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_MEMORY_H

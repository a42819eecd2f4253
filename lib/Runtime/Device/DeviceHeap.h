//===- DeviceHeap.h - Caching allocator of device memory ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DEVICE_DEVICEHEAP_H
#define BPPSA_LIB_RUNTIME_DEVICE_DEVICEHEAP_H

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

namespace bppsa::runtime {

/// Caches device memory. Released blocks are reused immediately, which requires that work on them
/// executes in order. Never accesses the memory.
class DeviceHeap {
public:
  /// Allocates blocks aligned to Device::alignment, or returns null.
  struct Source {
    std::function<void *(uint64_t)> allocate;
    std::function<void(void *)> release;
  };
  explicit DeviceHeap(Source source) : source(std::move(source)) {}
  DeviceHeap(const DeviceHeap &) = delete;

  /// Returns null if memory is exhausted, even after returning unused blocks to the source.
  void *allocate(uint64_t size);
  void release(void *block);
  /// Returns true if allocate() would succeed for all `sizes` in order after releasing `released`,
  /// with `free` bytes left in the source.
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
            uint64_t free) const;
  uint64_t unusedBytes() const { return unused; }

private:
  void *allocateSmall(uint64_t sizeClass);
  bool newSegment();
  void *allocateLarge(uint64_t size);
  void *obtain(uint64_t size);
  void trim();

  Source source;
  /// Unused small blocks by size class, and the rest of the last segment.
  std::vector<std::vector<void *>> freeSmall;
  char *segment = nullptr;
  uint64_t segmentRest = 0;
  std::multimap<uint64_t, void *> freeLarge;
  uint64_t unused = 0;
  /// Holds the size class, or the capacity of a large block.
  struct Block {
    bool large;
    uint64_t kind;
  };
  std::unordered_map<void *, Block> blocks;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DEVICE_DEVICEHEAP_H

//===- DeviceHeap.h - Allocator over large blocks of a device -------------------===//
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

/// Memory of a device whose own allocator is slow. Blocks that are released are used again at once,
/// which is right where all work on them is done in order. The heap never looks into the memory.
class DeviceHeap {
public:
  /// What gives large blocks, aligned to Device::alignment (null: there is no memory), and takes
  /// them back.
  struct Source {
    std::function<void *(uint64_t)> allocate;
    std::function<void(void *)> release;
  };
  explicit DeviceHeap(Source source) : source(std::move(source)) {}
  DeviceHeap(const DeviceHeap &) = delete;

  /// Null: there is no memory, also after unused blocks went back to the source.
  void *allocate(uint64_t size);
  /// Gives back what allocate() gave.
  void release(void *block);
  /// Whether allocate() would find memory for all of `sizes`, in this order and after the blocks
  /// `released` were released, where the source has `free` bytes. Changes nothing.
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
            uint64_t free) const;
  /// Bytes from the source that are in no block: those can go back, and become larger blocks.
  uint64_t unusedBytes() const { return unused; }

private:
  void *allocateSmall(uint64_t sizeClass);
  bool newSegment();
  void *allocateLarge(uint64_t size);
  void *obtain(uint64_t size);
  void trim();

  Source source;
  /// Small blocks are pieces of segments: unused ones by class, and the rest of the last segment.
  std::vector<std::vector<void *>> freeSmall;
  char *segment = nullptr;
  uint64_t segmentRest = 0;
  /// Large blocks come from the source one by one: unused ones by capacity.
  std::multimap<uint64_t, void *> freeLarge;
  uint64_t unused = 0;
  /// Of every block in use: its class, or its capacity where it is large.
  struct Block {
    bool large;
    uint64_t kind;
  };
  std::unordered_map<void *, Block> blocks;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DEVICE_DEVICEHEAP_H

//===- DeviceHeap.cpp - Caching allocator of device memory ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Device/DeviceHeap.h"
#include "../SizeClasses.h"
#include "bppsa/Runtime/Device/Device.h"

#include <algorithm>
#include <tuple>

using namespace bppsa::runtime;

/// Smaller blocks are cut from segments.
static constexpr uint64_t kMinLarge = uint64_t(1) << 20;
/// A multiple of the GPU's page size.
static constexpr uint64_t kLargeStep = uint64_t(2) << 20;
static constexpr uint64_t kSegmentSize = uint64_t(32) << 20;
/// Size classes start at 64 bytes.
static constexpr uint64_t kClassScale = Device::alignment / 64;

void *DeviceHeap::allocate(uint64_t size) {
  if (size >= kMinLarge)
    return allocateLarge(size);
  return allocateSmall(sizeClassOf((size + kClassScale - 1) / kClassScale));
}

void *DeviceHeap::allocateSmall(uint64_t sizeClass) {
  freeSmall.resize(kSizeClassCount);
  std::vector<void *> &list = freeSmall[sizeClass];
  void *block = nullptr;
  if (!list.empty()) {
    block = list.back();
    list.pop_back();
  } else {
    uint64_t capacity = capacityOf(sizeClass) * kClassScale;
    if (segmentRest < capacity && !newSegment())
      return nullptr;
    block = segment;
    segment += capacity;
    segmentRest -= capacity;
  }
  blocks[block] = {false, sizeClass};
  return block;
}

bool DeviceHeap::newSegment() {
  for (uint64_t size = kSegmentSize; size >= kLargeStep; size /= 2)
    if (void *fresh = obtain(size)) {
      segment = static_cast<char *>(fresh);
      segmentRest = size;
      return true;
    }
  return false;
}

void *DeviceHeap::allocateLarge(uint64_t size) {
  if (size > (uint64_t(1) << 62))
    return nullptr;
  uint64_t capacity = (size + kLargeStep - 1) / kLargeStep * kLargeStep;
  void *block = nullptr;
  // Keep much larger blocks for larger requests.
  auto found = freeLarge.lower_bound(capacity);
  if (found != freeLarge.end() && found->first <= capacity + capacity / 8) {
    std::tie(capacity, block) = *found;
    unused -= capacity;
    freeLarge.erase(found);
  } else {
    block = obtain(capacity);
  }
  if (block)
    blocks[block] = {true, capacity};
  return block;
}

void *DeviceHeap::obtain(uint64_t size) {
  void *memory = source.allocate(size);
  if (!memory && !freeLarge.empty()) {
    trim();
    memory = source.allocate(size);
  }
  return memory;
}

void DeviceHeap::trim() {
  for (auto [capacity, block] : freeLarge)
    source.release(block);
  freeLarge.clear();
  unused = 0;
}

void DeviceHeap::release(void *block) {
  Block released = blocks.at(block);
  blocks.erase(block);
  if (!released.large) {
    freeSmall[released.kind].push_back(block);
    return;
  }
  freeLarge.emplace(released.kind, block);
  unused += released.kind;
}

namespace {
/// Only counts bytes; addresses are never valid.
class CountedSource {
public:
  CountedSource(uint64_t free, std::unordered_map<void *, uint64_t> large)
      : free(free), large(std::move(large)) {}

  void *allocate(uint64_t size) {
    if (size > free)
      return nullptr;
    free -= size;
    void *block = reinterpret_cast<void *>(next);
    next += size;
    large[block] = size;
    return block;
  }
  void release(void *block) { free += large.at(block); }

private:
  uint64_t free;
  std::unordered_map<void *, uint64_t> large;
  uintptr_t next = uintptr_t(1) << 62;
};
} // namespace

bool DeviceHeap::fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes,
                      uint64_t free) const {
  std::unordered_map<void *, uint64_t> large;
  for (auto [capacity, block] : freeLarge)
    large[block] = capacity;
  for (auto [block, kind] : blocks)
    if (kind.large)
      large[block] = kind.kind;
  CountedSource counted(free, std::move(large));
  DeviceHeap trial({[&](uint64_t size) { return counted.allocate(size); },
                    [&](void *block) { counted.release(block); }});
  trial.freeSmall = freeSmall;
  trial.segment = segment;
  trial.segmentRest = segmentRest;
  trial.freeLarge = freeLarge;
  trial.unused = unused;
  trial.blocks = blocks;
  for (void *block : released)
    trial.release(block);
  return std::all_of(sizes.begin(), sizes.end(),
                     [&](uint64_t size) { return trial.allocate(size) != nullptr; });
}

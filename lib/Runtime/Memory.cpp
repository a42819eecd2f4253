//===- Memory.cpp - Aligned memory and the allocator of compiled code -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Memory.h"
#include "SizeClasses.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

using namespace bppsa::runtime;

Buffer::Buffer(size_t size)
    : bytes(static_cast<std::byte *>(allocateBlock(64, size))), length(size) {
  if (size > 0)
    memset(bytes, 0, size);
}

Buffer Buffer::uninitialized(size_t size) {
  Buffer buffer;
  freeBlock(buffer.bytes);
  buffer.bytes = static_cast<std::byte *>(allocateBlock(64, size));
  buffer.length = size;
  return buffer;
}

Buffer Buffer::borrow(void *bytes, size_t size) {
  Buffer buffer = uninitialized(0);
  freeBlock(std::exchange(buffer.bytes, static_cast<std::byte *>(bytes)));
  buffer.length = size;
  buffer.isBorrowed = true;
  return buffer;
}

Buffer::~Buffer() {
  if (!isBorrowed)
    freeBlock(bytes);
}

Buffer::Buffer(Buffer &&other) noexcept
    : bytes(std::exchange(other.bytes, nullptr)), length(std::exchange(other.length, 0)),
      isBorrowed(std::exchange(other.isBorrowed, false)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  std::swap(isBorrowed, other.isBorrowed);
  return *this;
}

namespace {
/// Occupies the 64 bytes before a block.
struct Header {
  void *base;
  uint64_t requested;
  uint64_t sizeClass;
};

constexpr uint64_t kUncached = ~uint64_t(0);
constexpr uint64_t kHeaderBytes = 64;
constexpr uint64_t kHugePage = uint64_t(2) << 20;
static_assert(sizeof(Header) <= kHeaderBytes);

class Cache {
public:
  void *take(uint64_t sizeClass, uint64_t requested) {
    std::lock_guard<std::mutex> lock(mutex);
    count(requested);
    std::vector<void *> &list = free[sizeClass];
    if (list.empty())
      return nullptr;
    void *block = list.back();
    list.pop_back();
    return block;
  }

  void put(uint64_t sizeClass, void *block, uint64_t requested) {
    std::lock_guard<std::mutex> lock(mutex);
    live -= requested;
    free[sizeClass].push_back(block);
  }

  void count(uint64_t requested) {
    live += requested;
    peak = std::max(peak, live);
  }

  void trim() {
    std::lock_guard<std::mutex> lock(mutex);
    for (std::vector<void *> &list : free) {
      for (void *block : list)
        ::free(reinterpret_cast<Header *>(static_cast<char *>(block) - kHeaderBytes)->base);
      list.clear();
    }
  }

  std::mutex mutex;
  uint64_t live = 0, peak = 0;

private:
  std::array<std::vector<void *>, kSizeClassCount> free;
};

// Never destroyed: threads and static destructors may still free memory.
Cache &cache() {
  static Cache *instance = new Cache;
  return *instance;
}

/// Hold the lock across fork(), so that the child does not inherit it locked.
const int forkHandlers = pthread_atfork(
    [] { cache().mutex.lock(); }, [] { cache().mutex.unlock(); }, [] { cache().mutex.unlock(); });

void *newBlock(uint64_t alignment, uint64_t capacity) {
  uint64_t lead = std::max(alignment, kHeaderBytes);
  if (capacity > (uint64_t(1) << 62) - lead)
    return nullptr;
  bool huge = capacity >= 2 * kHugePage;
  uint64_t total = (lead + capacity + 63) / 64 * 64;
  void *base = nullptr;
  if (posix_memalign(&base, huge ? std::max(kHugePage, alignment) : lead, total) != 0)
    return nullptr;
  if (huge)
    madvise(base, total, MADV_HUGEPAGE);
  void *block = static_cast<char *>(base) + lead;
  reinterpret_cast<Header *>(static_cast<char *>(block) - kHeaderBytes)->base = base;
  return block;
}
} // namespace

void *bppsa::runtime::allocateBlock(size_t alignment, size_t size) {
  bool cached = alignment <= 64 && size < (uint64_t(1) << 60);
  uint64_t sizeClass = cached ? sizeClassOf(size) : kUncached;
  void *block = nullptr;
  if (cached) {
    block = cache().take(sizeClass, size);
  } else {
    std::lock_guard<std::mutex> lock(cache().mutex);
    cache().count(size);
  }
  uint64_t capacity = cached ? capacityOf(sizeClass) : size;
  if (!block && !(block = newBlock(alignment, capacity))) {
    cache().trim();
    if (!(block = newBlock(alignment, capacity)))
      throw std::bad_alloc();
  }
  auto *header = reinterpret_cast<Header *>(static_cast<char *>(block) - kHeaderBytes);
  header->requested = size;
  header->sizeClass = sizeClass;
  return block;
}

void bppsa::runtime::freeBlock(void *block) {
  if (!block)
    return;
  auto *header = reinterpret_cast<Header *>(static_cast<char *>(block) - kHeaderBytes);
  if (header->sizeClass != kUncached)
    return cache().put(header->sizeClass, block, header->requested);
  {
    std::lock_guard<std::mutex> lock(cache().mutex);
    cache().live -= header->requested;
  }
  free(header->base);
}

uint64_t bppsa::runtime::liveBytes() {
  std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().live;
}

uint64_t bppsa::runtime::peakBytes() {
  std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().peak;
}

void bppsa::runtime::resetPeakBytes() {
  std::lock_guard<std::mutex> lock(cache().mutex);
  cache().peak = cache().live;
}

//===- EmulatorMemory.cpp - memory accessible to kernels ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatorMemory.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>

using namespace bppsa::runtime;
using namespace bppsa::runtime::emulator;

static bool before(const Range &a, const Range &b) { return a.begin < b.begin; }

constexpr uint64_t kAlignment = 256;

/// The zone is about as large as the allocation, so that an index off by a row or a sample does not
/// reach another allocation.
static uint64_t redZone(uint64_t bytes) {
  return std::clamp(bytes / kAlignment * kAlignment, kAlignment, uint64_t(1) << 20);
}

constexpr uint64_t kQuarantine = uint64_t(16) << 20;

static void freeRange(const Range &range) {
  free(reinterpret_cast<char *>(range.begin) - redZone(range.end - range.begin));
}

DeviceMemory::~DeviceMemory() {
  for (const Range &range : live)
    freeRange(range);
  for (const Range &range : released)
    freeRange(range);
}

void *DeviceMemory::allocate(uint64_t bytes) {
  void *base = nullptr;
  if (bytes > (uint64_t(1) << 62) ||
      posix_memalign(&base, kAlignment, (2 * redZone(bytes) + bytes + 63) / 64 * 64) != 0)
    throw std::bad_alloc();
  char *memory = static_cast<char *>(base) + redZone(bytes);
  memset(memory, 0xab, bytes);
  Range range{reinterpret_cast<uintptr_t>(memory), reinterpret_cast<uintptr_t>(memory) + bytes};
  std::lock_guard<std::mutex> lock(mutex);
  live.insert(std::upper_bound(live.begin(), live.end(), range, before), range);
  return memory;
}

void DeviceMemory::release(void *memory) {
  if (!memory)
    return;
  Range range{reinterpret_cast<uintptr_t>(memory)};
  std::lock_guard<std::mutex> lock(mutex);
  auto found = std::lower_bound(live.begin(), live.end(), range, before);
  if (found == live.end() || found->begin != range.begin)
    fail("freed device memory that was not allocated, or that was already freed");
  released.push_back(*found);
  releasedBytes += found->end - found->begin;
  live.erase(found);
  for (; releasedBytes > kQuarantine; released.pop_front()) {
    freeRange(released.front());
    releasedBytes -= released.front().end - released.front().begin;
  }
}

const Range *bppsa::runtime::emulator::findRange(const std::vector<Range> &ranges,
                                                 uintptr_t address) {
  auto next = std::upper_bound(ranges.begin(), ranges.end(), Range{address}, before);
  return next == ranges.begin() ? nullptr : &*std::prev(next);
}

std::string bppsa::runtime::emulator::describeOutOfBounds(const std::vector<Range> &ranges,
                                                          uintptr_t address, uint64_t bytes) {
  constexpr uint64_t near = 1 << 20;
  const Range *previous = findRange(ranges, address);
  const Range *next = previous ? previous + 1 : (ranges.empty() ? nullptr : ranges.data());
  if (next == ranges.data() + ranges.size())
    next = nullptr;
  auto size = [](const Range *range) {
    return text("of ", range->end - range->begin, " bytes of device memory");
  };
  uint64_t behind = previous ? address - previous->begin : near;
  uint64_t ahead = next ? next->begin - address : near;
  if (previous && address < previous->end)
    return text("reaches over the end of an array ", size(previous), ", from its byte ", behind);
  if (previous && address - previous->end < std::min(near, ahead))
    return text("is out of bounds: at byte ", behind, " of an array ", size(previous));
  if (ahead < near)
    return text("is out of bounds: ", ahead, " bytes before an array ", size(next));
  return text("is out of bounds: at address ", reinterpret_cast<void *>(address),
              ", which is in no memory of the device");
}

namespace {
struct Program {
  std::mutex mutex;
  std::vector<Range> globals;
  std::unordered_map<KernelBody, KernelProperties> kernels;
};
} // namespace

/// Created on first use and never destroyed: programs' constructors may run before this library's.
static Program &program() {
  static Program *instance = new Program;
  return *instance;
}

std::vector<Range> DeviceMemory::ranges() {
  std::vector<Range> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    all = live;
  }
  {
    std::lock_guard<std::mutex> lock(program().mutex);
    all.insert(all.end(), program().globals.begin(), program().globals.end());
  }
  std::sort(all.begin(), all.end(), before);
  return all;
}

KernelProperties bppsa::runtime::emulator::kernelFacts(KernelBody kernel) {
  std::lock_guard<std::mutex> lock(program().mutex);
  auto found = program().kernels.find(kernel);
  return found == program().kernels.end() ? KernelProperties() : found->second;
}

extern "C" {
void bppsa_emu_add_global(const void *address, uint64_t bytes, uint32_t writable) {
  std::lock_guard<std::mutex> lock(program().mutex);
  auto begin = reinterpret_cast<uintptr_t>(address);
  program().globals.push_back({begin, begin + bytes, writable != 0});
}

void bppsa_emu_add_shared(KernelBody kernel, uint64_t offset, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(program().mutex);
  std::vector<Range> &arrays = program().kernels[kernel].arrays;
  Range range{offset, offset + bytes};
  arrays.insert(std::upper_bound(arrays.begin(), arrays.end(), range, before), range);
}

void bppsa_emu_limit_block(KernelBody kernel, uint32_t threads) {
  std::lock_guard<std::mutex> lock(program().mutex);
  program().kernels[kernel].maxThreads = threads;
}
}

//===- DeviceHeapTest.cpp - Tests of the device allocator -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Device/DeviceHeap.h"
#include "gtest/gtest.h"

#include <iterator>
#include <map>

using namespace bppsa::runtime;

static constexpr uint64_t mebi = uint64_t(1) << 20;

namespace {
/// Addresses that the host cannot access, like device memory.
struct FakeMemory {
  uint64_t free;
  std::map<void *, uint64_t> blocks;
  int allocations = 0;

  explicit FakeMemory(uint64_t size) : free(size) {}
  DeviceHeap::Source source() {
    return {[this](uint64_t size) { return allocate(size); },
            [this](void *block) {
              free += blocks.at(block);
              blocks.erase(block);
            }};
  }
  void *allocate(uint64_t size) {
    if (size > free)
      return nullptr;
    free -= size;
    void *block = reinterpret_cast<void *>(uint64_t(++allocations) << 40);
    blocks[block] = size;
    return block;
  }
};
} // namespace

static char *bytes(void *block) { return static_cast<char *>(block); }

TEST(DeviceHeapTest, BlocksAreAlignedAndApart) {
  FakeMemory memory(1024 * mebi);
  DeviceHeap heap(memory.source());
  std::map<char *, uint64_t> blocks;
  for (uint64_t size : {0u, 1u, 256u, 257u, 2048u, 2049u, 70000u, 1u << 20, 5u << 20, 900000u})
    for (int i = 0; i < 20; ++i) {
      void *block = heap.allocate(size);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 256, 0u);
      EXPECT_TRUE(blocks.emplace(bytes(block), size).second);
    }
  for (auto at = blocks.begin(), next = std::next(at); next != blocks.end(); ++at, ++next)
    EXPECT_LE(at->first + at->second, next->first);
}

TEST(DeviceHeapTest, SmallBlocksShareASegment) {
  FakeMemory memory(1024 * mebi);
  DeviceHeap heap(memory.source());
  for (int i = 0; i < 1000; ++i)
    heap.allocate(1000);
  EXPECT_EQ(memory.allocations, 1);
}

TEST(DeviceHeapTest, ReleasedBlocksAreUsedAgain) {
  FakeMemory memory(1024 * mebi);
  DeviceHeap heap(memory.source());
  for (uint64_t size : {uint64_t(1000), 8 * mebi}) {
    void *first = heap.allocate(size);
    heap.release(first);
    EXPECT_EQ(heap.allocate(size), first);
  }
}

TEST(DeviceHeapTest, MuchLargerBlocksAreKept) {
  FakeMemory memory(1024 * mebi);
  DeviceHeap heap(memory.source());
  void *large = heap.allocate(64 * mebi);
  heap.release(large);
  EXPECT_EQ(heap.unusedBytes(), 64 * mebi);
  EXPECT_NE(heap.allocate(32 * mebi), large);
  EXPECT_EQ(heap.allocate(60 * mebi), large);
  EXPECT_EQ(heap.unusedBytes(), 0u);
}

TEST(DeviceHeapTest, UnusedBlocksBecomeLargerOnes) {
  FakeMemory memory(100 * mebi);
  DeviceHeap heap(memory.source());
  heap.release(heap.allocate(40 * mebi));
  heap.release(heap.allocate(48 * mebi));
  EXPECT_NE(heap.allocate(90 * mebi), nullptr);
  EXPECT_EQ(memory.blocks.size(), 1u);
  EXPECT_EQ(heap.allocate(20 * mebi), nullptr);
}

TEST(DeviceHeapTest, SegmentsShrinkWhenMemoryEnds) {
  FakeMemory memory(10 * mebi);
  DeviceHeap heap(memory.source());
  EXPECT_NE(heap.allocate(1000), nullptr);
  EXPECT_EQ(memory.free, 2 * mebi);
  EXPECT_EQ(heap.allocate(3 * mebi), nullptr);
  EXPECT_NE(heap.allocate(2 * mebi), nullptr);
}

TEST(DeviceHeapTest, SaysWhatFits) {
  FakeMemory memory(100 * mebi);
  DeviceHeap heap(memory.source());
  void *small = heap.allocate(1000), *large = heap.allocate(40 * mebi);
  heap.release(heap.allocate(10 * mebi));
  // A segment of 32 MiB, 40 MiB in use, 10 MiB unused and 18 MiB left in the source.
  auto fits = [&](std::vector<void *> released, std::vector<uint64_t> sizes) {
    return heap.fits(released, sizes, memory.free);
  };
  EXPECT_TRUE(fits({}, {28 * mebi, 1000, 500000}));
  EXPECT_FALSE(fits({}, {28 * mebi + 1}));
  EXPECT_FALSE(fits({}, {16 * mebi, 14 * mebi}));
  EXPECT_TRUE(fits({large}, {68 * mebi}));
  EXPECT_FALSE(fits({large, small}, {70 * mebi}));
  EXPECT_EQ(heap.unusedBytes(), 10 * mebi);
  EXPECT_NE(heap.allocate(28 * mebi), nullptr);
}

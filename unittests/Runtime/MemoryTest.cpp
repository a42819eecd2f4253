//===- MemoryTest.cpp - The allocator of compiled code --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Memory.h"
#include "gtest/gtest.h"

#include <cstring>
#include <vector>

using namespace bppsa::runtime;

extern "C" void memrefCopy(int64_t elementSize, void *from, void *to);

TEST(MemoryTest, BlocksAreAlignedAndWritable) {
  for (size_t alignment : {1, 64, 256, 4096})
    for (size_t size : {0u, 1u, 64u, 65u, 513u, 576u, 577u, 100000u, 5u << 20}) {
      void *block = allocateBlock(alignment, size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (alignment < 64 ? 64 : alignment), 0u);
      memset(block, 0xff, size);
      freeBlock(block);
    }
}

TEST(MemoryTest, FreedBlocksAreUsedAgain) {
  void *first = allocateBlock(64, 100000);
  freeBlock(first);
  void *second = allocateBlock(64, 99000);
  EXPECT_EQ(first, second);
  freeBlock(second);
}

TEST(MemoryTest, CountsBytesInUse) {
  uint64_t before = liveBytes();
  resetPeakBytes();
  void *a = allocateBlock(64, 1000), *b = allocateBlock(4096, 2000);
  EXPECT_EQ(liveBytes(), before + 3000);
  freeBlock(a);
  freeBlock(b);
  EXPECT_EQ(liveBytes(), before);
  EXPECT_EQ(peakBytes(), before + 3000);
}

TEST(MemoryTest, BuffersStartAtZeroEvenInUsedMemory) {
  for (int round = 0; round < 2; ++round) {
    Buffer buffer(300);
    for (size_t i = 0; i < buffer.size(); ++i)
      EXPECT_EQ(buffer.data()[i], std::byte(0));
    memset(buffer.data(), 1, buffer.size());
  }
}

TEST(MemoryTest, CopiesBetweenLayouts) {
  struct Descriptor {
    void *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  };
  struct Unranked {
    int64_t rank;
    void *descriptor;
  };
  float source[12], target[6] = {};
  for (int i = 0; i < 12; ++i)
    source[i] = static_cast<float>(i);
  // Columns 1 and 3 of a 3 x 4 matrix, transposed.
  Descriptor from{source, source, 1, {2, 3}, {2, 4}}, to{target, target, 0, {2, 3}, {3, 1}};
  Unranked left{2, &from}, right{2, &to};
  memrefCopy(sizeof(float), &left, &right);
  EXPECT_EQ(std::vector<float>(target, target + 6), (std::vector<float>{1, 5, 9, 3, 7, 11}));
}

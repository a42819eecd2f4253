//===- EmulatorTest.cpp - kernels without faults --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "bppsa/Runtime/Threads/Threads.h"
#include "gtest/gtest.h"

#include <cmath>
#include <immintrin.h>
#include <new>
#include <numeric>

using namespace bppsa::runtime;

/// Sums the elements of each block: by shuffles within each warp, then over the warps.
static void reduce(void **arguments) {
  auto *in = argument<float *>(arguments, 0), *out = argument<float *>(arguments, 1);
  uint32_t thread = bppsa_emu_tid_x(), warps = bppsa_emu_ntid_x() / 32;
  float sum = load(in + bppsa_emu_ctaid_x() * bppsa_emu_ntid_x() + thread);
  for (uint32_t step = 16; step > 0; step /= 2)
    sum += shuffle(BPPSA_EMU_BFLY, sum, step, 31);
  if (bppsa_emu_laneid() == 0)
    store(shared<float>(thread / 32), sum);
  bppsa_emu_barrier("reduce");
  if (thread >= 32)
    return;
  sum = thread < warps ? load(shared<float>(thread)) : 0.0f;
  for (uint32_t step = 16; step > 0; step /= 2)
    sum += shuffle(BPPSA_EMU_DOWN, sum, step, 31);
  if (thread == 0)
    store(out + bppsa_emu_ctaid_x(), sum);
}

TEST(EmulatorTest, ReducesBlocks) {
  for (int threads : {1, 2, 5})
    for (uint64_t seed : {0, 1, 2}) {
      Emulator emulator;
      emulator.setThreads(threads);
      emulator.setSeed(seed);
      std::vector<float> numbers(20 * 256);
      std::iota(numbers.begin(), numbers.end(), 0.0f);
      DeviceArray<float> in(emulator, numbers), out(emulator, std::vector<float>(20));
      void *arguments[] = {&in.data, &out.data};
      emulator.launch("reduce", reduce, {20}, {256}, arguments, 8 * sizeof(float));
      for (int block = 0; block < 20; ++block)
        EXPECT_EQ(out.values()[block], 256.0f * 256 * block + 256 * 255 / 2);
    }
}

static void storePlace(void **arguments) {
  uint32_t x = bppsa_emu_ctaid_x() * bppsa_emu_ntid_x() + bppsa_emu_tid_x();
  uint32_t y = bppsa_emu_ctaid_y() * bppsa_emu_ntid_y() + bppsa_emu_tid_y();
  uint32_t z = bppsa_emu_ctaid_z() * bppsa_emu_ntid_z() + bppsa_emu_tid_z();
  uint32_t width = bppsa_emu_nctaid_x() * bppsa_emu_ntid_x();
  uint32_t height = bppsa_emu_nctaid_y() * bppsa_emu_ntid_y();
  uint32_t *out = argument<uint32_t *>(arguments, 0) + (z * height + y) * width + x;
  store(out, load(out) + 100 * z + 10 * y + x);
}

TEST(EmulatorTest, EveryThreadRunsOnceAtItsPlace) {
  Emulator emulator;
  DeviceArray<uint32_t> out(emulator, std::vector<uint32_t>(6 * 4 * 4));
  void *arguments[] = {&out.data};
  emulator.launch("place", storePlace, {2, 1, 2}, {3, 4, 2}, arguments);
  for (uint32_t i = 0; i < 96; ++i)
    EXPECT_EQ(out.values()[i], 100 * (i / 24) + 10 * (i / 6 % 4) + i % 6);
  emulator.launch("none", storePlace, {2, 0, 2}, {3, 4, 2}, arguments);
  EXPECT_EQ(out.values()[95], 335u);
}

struct ShuffleCase {
  uint32_t mode, lane, clamp;
  /// The lane that each of the first lanes reads; -1 if it is out of range and the lane reads its
  /// own value.
  std::vector<int> sources;
};

static void shuffleLanes(void **arguments) {
  auto *test = argument<const ShuffleCase *>(arguments, 0);
  auto *sources = argument<int *>(arguments, 1);
  uint32_t lane = bppsa_emu_laneid();
  uint8_t inRange = 2;
  float value =
      shuffle(test->mode, static_cast<float>(lane), test->lane, test->clamp, wholeWarp, &inRange);
  store(sources + lane, inRange ? static_cast<int>(value) : -1);
  if (!inRange)
    EXPECT_EQ(value, static_cast<float>(lane));
}

// The c operand holds the clamp in bits 0 to 4 and the segment mask in bits 8 to 12.
TEST(EmulatorTest, ShufflesClampAndSegmentAsPTX) {
  const uint32_t segmentsOf8 = (31u & ~7u) << 8;
  const ShuffleCase cases[] = {
      {BPPSA_EMU_UP, 2, 0, {-1, -1, 0, 1, 2, 3, 4, 5, 6}},
      {BPPSA_EMU_UP, 2, segmentsOf8, {-1, -1, 0, 1, 2, 3, 4, 5, -1, -1, 8}},
      {BPPSA_EMU_DOWN, 3, segmentsOf8 | 7, {3, 4, 5, 6, 7, -1, -1, -1, 11}},
      {BPPSA_EMU_DOWN, 1, 3, {1, 2, 3, -1, -1}},
      {BPPSA_EMU_BFLY, 4, segmentsOf8 | 7, {4, 5, 6, 7, 0, 1, 2, 3, 12}},
      {BPPSA_EMU_BFLY, 8, segmentsOf8 | 7, {-1, -1, -1, -1, -1, -1, -1, -1, 0}},
      {BPPSA_EMU_IDX, 5, 31, {5, 5, 5, 5, 5, 5, 5, 5, 5}},
      {BPPSA_EMU_IDX, 5, segmentsOf8 | 7, {5, 5, 5, 5, 5, 5, 5, 5, 13}},
      {BPPSA_EMU_IDX, 5, segmentsOf8 | 3, {-1, -1, -1, -1, -1, -1, -1, -1, -1}}};
  for (const ShuffleCase &test : cases) {
    Emulator emulator;
    DeviceArray<int> sources(emulator, std::vector<int>(32));
    const ShuffleCase *pointer = &test;
    void *arguments[] = {&pointer, &sources.data};
    emulator.launch("shuffle", shuffleLanes, {1}, {32}, arguments);
    for (size_t lane = 0; lane < test.sources.size(); ++lane)
      EXPECT_EQ(sources.values()[lane], test.sources[lane])
          << "mode " << test.mode << " lane " << lane << " clamp " << test.clamp;
  }
}

static void voteInHalves(void **arguments) {
  auto *out = argument<uint32_t *>(arguments, 0);
  uint32_t lane = bppsa_emu_laneid(), mask = lane < 16 ? 0xffffu : 0xffff0000u;
  bool odd = lane % 2 != 0;
  uint32_t ballot = bppsa_emu_vote(BPPSA_EMU_BALLOT, mask, odd, "ballot");
  uint32_t all = bppsa_emu_vote(BPPSA_EMU_ALL, mask, lane < 16, "all");
  uint32_t any = bppsa_emu_vote(BPPSA_EMU_ANY, mask, lane == 3, "any");
  uint32_t uniform = bppsa_emu_vote(BPPSA_EMU_UNI, mask, lane == 3 || lane >= 16, "uni");
  store(out + lane, ballot ^ (all | any << 1 | uniform << 2));
}

TEST(EmulatorTest, VotesAmongTheLanesOfAMask) {
  for (uint64_t seed : {0, 7}) {
    Emulator emulator;
    emulator.setSeed(seed);
    DeviceArray<uint32_t> out(emulator, std::vector<uint32_t>(32));
    void *arguments[] = {&out.data};
    emulator.launch("vote", voteInHalves, {1}, {32}, arguments);
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out.values()[lane], lane < 16 ? 0xaaaau ^ 3u : 0xaaaa0000u ^ 4u);
  }
}

/// The last warp has 8 threads; bar.warp.sync orders the writes and reads of its lanes.
static void exchangeInWarps(void **arguments) {
  auto *out = argument<uint32_t *>(arguments, 0);
  uint32_t thread = bppsa_emu_tid_x();
  store(shared<uint32_t>(thread), thread);
  bppsa_emu_warp_barrier(wholeWarp, "first");
  uint32_t value = load(shared<uint32_t>(thread ^ 1));
  bppsa_emu_warp_barrier(wholeWarp, "second");
  store(shared<uint32_t>(thread), 100 + value);
  bppsa_emu_warp_barrier(wholeWarp, "third");
  store(out + thread, load(shared<uint32_t>(thread ^ 3)));
}

TEST(EmulatorTest, WarpBarriersOrderMemory) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    Emulator emulator;
    emulator.setSeed(seed);
    DeviceArray<uint32_t> out(emulator, std::vector<uint32_t>(40));
    void *arguments[] = {&out.data};
    emulator.launch("exchange", exchangeInWarps, {1}, {40}, arguments, 160);
    for (uint32_t i = 0; i < 40; ++i)
      EXPECT_EQ(out.values()[i], 100 + (i ^ 2));
  }
}

/// Issues two groups and waits for the older one first.
static void copyInGroups(void **arguments) {
  auto *in = argument<float *>(arguments, 0), *out = argument<float *>(arguments, 1);
  uint32_t thread = bppsa_emu_tid_x();
  auto *first = shared<float>(4 * thread), *second = shared<float>(128 + 4 * thread);
  bppsa_emu_copy_async(first, in + 4 * thread, 16, 16, "first");
  bppsa_emu_copy_commit();
  bppsa_emu_copy_async(second, in + 4 * thread, 16, 8, "second");
  bppsa_emu_copy_commit();
  bppsa_emu_copy_wait(1);
  bppsa_emu_barrier("first group");
  store(out + thread, load(shared<float>(127 - thread)));
  bppsa_emu_copy_wait(0);
  bppsa_emu_barrier("second group");
  store(out + 32 + thread, load(shared<float>(128 + thread)));
}

TEST(EmulatorTest, CopiesArriveInGroups) {
  Emulator emulator;
  std::vector<float> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  DeviceArray<float> in(emulator, numbers), out(emulator, std::vector<float>(64));
  void *arguments[] = {&in.data, &out.data};
  emulator.launch("copy", copyInGroups, {1}, {32}, arguments, 1024);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(out.values()[i], 128.0f - i);
    EXPECT_EQ(out.values()[32 + i], i % 4 < 2 ? i + 1.0f : 0.0f);
  }
}

/// The rounding of the sum depends on the order.
static void addUp(void **arguments) {
  auto *out = argument<float *>(arguments, 0);
  uint32_t number = bppsa_emu_ctaid_x() * bppsa_emu_ntid_x() + bppsa_emu_tid_x();
  atomicAdd(out, 1.0f / static_cast<float>(number + 1));
}

static float sumInAnyOrder(int threads, uint64_t seed) {
  Emulator emulator;
  emulator.setThreads(threads);
  emulator.setSeed(seed);
  DeviceArray<float> out(emulator, {0.0f});
  void *arguments[] = {&out.data};
  emulator.launch("sum", addUp, {50}, {64}, arguments);
  return out.values()[0];
}

TEST(EmulatorTest, ResultsDependOnTheSeedAlone) {
  std::vector<float> sums;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    float sum = sumInAnyOrder(1, seed);
    for (int threads : {2, 3, 8})
      EXPECT_EQ(sumInAnyOrder(threads, seed), sum) << threads << " threads, seed " << seed;
    EXPECT_NEAR(sum, 8.648, 0.01);
    sums.push_back(sum);
  }
  EXPECT_NE(std::vector<float>(6, sums[0]), sums) << "no seed changes the order";
}

/// A missing barrier for device memory is not detected as a fault, but some seeds produce wrong
/// results.
static void readNeighbour(void **arguments) {
  auto *data = argument<uint32_t *>(arguments, 0);
  bool synchronise = argument<bool>(arguments, 1);
  uint32_t thread = bppsa_emu_tid_x();
  store(data + thread, thread);
  if (synchronise)
    bppsa_emu_barrier("neighbour");
  store(data + 64 + thread, load(data + (thread + 63) % 64));
}

TEST(EmulatorTest, SeedsShowAMissingBarrier) {
  for (bool synchronise : {true, false}) {
    int wrong = 0;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Emulator emulator;
      emulator.setSeed(seed);
      DeviceArray<uint32_t> data(emulator, std::vector<uint32_t>(128, 999));
      void *arguments[] = {&data.data, &synchronise};
      emulator.launch("neighbour", readNeighbour, {1}, {64}, arguments);
      for (uint32_t i = 1; i < 64; ++i)
        wrong += data.values()[64 + i] != i - 1;
      if (seed == 0)
        EXPECT_EQ(wrong, 0) << "the natural order hides it";
    }
    EXPECT_EQ(wrong > 0, !synchronise);
  }
}

/// Blocks of equal parity pass values around, odd blocks for one round more. A block reads the
/// value that its neighbour wrote before the barrier, which is a counter.
static void passAround(void **arguments) {
  auto *data = argument<uint32_t *>(arguments, 0);
  uint32_t block = bppsa_emu_ctaid_x(), blocks = bppsa_emu_nctaid_x();
  uint32_t thread = bppsa_emu_tid_x(), passed = 0;
  auto *counter = argument<uint32_t *>(arguments, 1) + block % 2;
  store(shared<uint32_t>(thread), block);
  for (uint32_t round = 0; round < 3 + block % 2; ++round) {
    uint32_t value = load(data + (block + 2) % blocks * 32 + thread);
    awaitBlocks(counter, ++passed * (blocks / 2), "read");
    store(data + block * 32 + thread, value + 1);
    awaitBlocks(counter, ++passed * (blocks / 2), "written");
  }
  EXPECT_EQ(load(shared<uint32_t>(thread)), block);
}

TEST(EmulatorTest, BlocksWaitForEachOther) {
  for (int threads : {1, 2, 4})
    for (uint64_t seed : {0, 5}) {
      Emulator emulator;
      emulator.setThreads(threads);
      emulator.setSeed(seed);
      std::vector<uint32_t> numbers(10 * 32);
      for (uint32_t i = 0; i < numbers.size(); ++i)
        numbers[i] = i / 32 * 10;
      DeviceArray<uint32_t> data(emulator, numbers), counters(emulator, {0, 0});
      void *arguments[] = {&data.data, &counters.data};
      emulator.launch("around", passAround, {10}, {32}, arguments, 128, /*cooperative=*/true);
      for (uint32_t i = 0; i < numbers.size(); ++i) {
        uint32_t rounds = 3 + i / 32 % 2;
        EXPECT_EQ(data.values()[i], (i / 32 + 2 * rounds) % 10 * 10 + rounds);
      }
    }
}

TEST(EmulatorTest, MemoryStartsWithAPatternAndEnds) {
  Emulator emulator;
  auto *memory = static_cast<unsigned char *>(emulator.allocate(1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(memory[i], 0xab);
  emulator.release(memory);
  emulator.release(nullptr);
  EXPECT_THROW(emulator.allocate(uint64_t(1) << 60), std::bad_alloc);
}

static void halve(void **arguments) {
  store(argument<float *>(arguments, 0), load(argument<float *>(arguments, 0)) * 0.5f);
}

TEST(EmulatorTest, KeepsDenormalNumbers) {
  Emulator emulator;
  DeviceArray<float> value(emulator, {0x1p-126f});
  void *arguments[] = {&value.data};
  unsigned before = _mm_getcsr();
  flushDenormals();
  emulator.launch("denormal", halve, {1}, {1}, arguments);
  EXPECT_NE(_mm_getcsr() & 0x8040, 0u) << "the host's own mode is back";
  _mm_setcsr(before);
  EXPECT_EQ(value.values()[0], 0x1p-127f);
  EXPECT_EQ(bppsa_emu_flush(-0x1p-127f), 0.0f);
  EXPECT_TRUE(std::signbit(bppsa_emu_flush(-0x1p-127f)));
  EXPECT_EQ(bppsa_emu_flush(0x1p-126f), 0x1p-126f);
}

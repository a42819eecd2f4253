//===- EmulatorFaultTest.cpp - detection of faults in kernels -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every kernel takes a flag that enables its fault. Tests run both versions, so that a detector
// that always or never fires fails.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "gtest/gtest.h"

#include <string>

using namespace bppsa::runtime;

namespace {
class EmulatorFaultTest : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void run(KernelBody kernel, bool fault, uint64_t seed, int threads, uint32_t blockSize) {
    Emulator emulator;
    emulator.setSeed(seed);
    emulator.setThreads(threads);
    DeviceArray<float> first(emulator, std::vector<float>(100, 1.0f));
    DeviceArray<float> second(emulator, std::vector<float>(100, 1.0f));
    void *freed = emulator.allocate(400);
    emulator.release(freed);
    DeviceArray<uint32_t> counter(emulator, {0});
    void *arguments[] = {&fault, &first.data, &second.data, &freed, &counter.data};
    emulator.launch("planted", kernel, {3}, {blockSize}, arguments, 1024, /*cooperative=*/true);
  }

  /// Checks in several schedules that the kernel runs without the fault and reports one line with
  /// it.
  static void check(KernelBody kernel, const std::string &what, uint32_t blockSize = 64) {
    for (uint64_t seed : {0, 1, 2})
      for (int threads : {1, 2}) {
        run(kernel, false, seed, threads, blockSize);
        std::string line = "^error: kernel 'planted', block \\([0-9]+, 0, 0\\), thread "
                           "\\([0-9]+, 0, 0\\): " +
                           what + "\n$";
        EXPECT_EXIT(run(kernel, true, seed, threads, blockSize), testing::ExitedWithCode(1), line);
      }
  }
};
} // namespace

static bool fault(void **arguments) { return argument<bool>(arguments, 0); }
static float *array(void **arguments, int index = 1) { return argument<float *>(arguments, index); }

TEST_F(EmulatorFaultTest, BarrierAfterAnExit) {
  check(
      [](void **arguments) {
        if (fault(arguments) && bppsa_emu_tid_x() == 40)
          return;
        bppsa_emu_barrier("k.mlir:3:5");
      },
      "divergent barrier: thread \\(40, 0, 0\\) never reaches it, it has exited; k.mlir:3:5");
}

TEST_F(EmulatorFaultTest, BarriersAtTwoPlaces) {
  check(
      [](void **arguments) {
        bppsa_emu_barrier(fault(arguments) && bppsa_emu_tid_x() == 7 ? "B" : "A");
      },
      "divergent barrier: thread \\(7, 0, 0\\) never reaches it, it waits at the barrier at B; A");
}

TEST_F(EmulatorFaultTest, ShuffleNamesAnExitedLane) {
  check(
      [](void **arguments) {
        if (fault(arguments) && bppsa_emu_tid_x() == 37)
          return;
        shuffle(BPPSA_EMU_BFLY, 1.0f, 1, 31);
      },
      "the mask 0xffffffff of the shuffle names lane 5, which has exited; shuffle");
}

TEST_F(EmulatorFaultTest, ShuffleNamesALaneAtABarrier) {
  check(
      [](void **arguments) {
        if (fault(arguments) && bppsa_emu_tid_x() == 5)
          bppsa_emu_barrier("elsewhere");
        shuffle(BPPSA_EMU_BFLY, 1.0f, 1, 31);
        if (!fault(arguments) || bppsa_emu_tid_x() != 5)
          bppsa_emu_barrier("elsewhere");
      },
      "the mask 0xffffffff of the shuffle names lane 5, which waits at the barrier at elsewhere; "
      "shuffle");
}

TEST_F(EmulatorFaultTest, LanesWaitForEachOther) {
  check(
      [](void **arguments) {
        uint32_t odd = bppsa_emu_laneid() % 2;
        uint32_t mask = fault(arguments) && odd ? 0x55555557u : wholeWarp;
        shuffle(BPPSA_EMU_IDX, 1.0f, 0, 31, mask | 1u << bppsa_emu_laneid());
      },
      "deadlock: the mask 0xffffffff of the shuffle names lane 1, which waits at the shuffle with "
      "mask 0x55555557 at shuffle; shuffle");
}

TEST_F(EmulatorFaultTest, DifferentOperations) {
  check(
      [](void **arguments) {
        if (fault(arguments) && bppsa_emu_laneid() >= 16)
          bppsa_emu_vote(BPPSA_EMU_ANY, wholeWarp, 1, "vote");
        else
          bppsa_emu_warp_barrier(wholeWarp, "sync");
      },
      "deadlock: the mask 0xffffffff of the bar.warp.sync names lane 16, which waits at the vote "
      "with mask 0xffffffff at vote; sync");
}

TEST_F(EmulatorFaultTest, MaskWithoutTheLaneItself) {
  check(
      [](void **arguments) {
        uint32_t self = 1u << bppsa_emu_laneid();
        bppsa_emu_warp_barrier(fault(arguments) ? ~self : wholeWarp, "sync");
      },
      "the mask of a warp operation does not include the lane itself; sync");
}

TEST_F(EmulatorFaultTest, ReadBehindAnArray) {
  check([](void **arguments) { load(array(arguments) + (fault(arguments) ? 100 : 99), "k:7"); },
        "read of 4 bytes is out of bounds: at byte 400 of an array of 400 bytes of device memory; "
        "k:7");
}

TEST_F(EmulatorFaultTest, WriteBeforeAnArray) {
  check(
      [](void **arguments) {
        if (bppsa_emu_tid_x() == 0 && bppsa_emu_ctaid_x() == 0)
          store(array(arguments) - (fault(arguments) ? 1 : 0), 0.0f, "k:7");
      },
      "write of 4 bytes is out of bounds: .*; k:7");
}

TEST_F(EmulatorFaultTest, AccessOverAnEnd) {
  check(
      [](void **arguments) {
        bppsa_emu_access(array(arguments) + (fault(arguments) ? 98 : 96), 16, 0, "vector");
      },
      "read of 16 bytes reaches over the end of an array of 400 bytes of device memory, from its "
      "byte 392; vector");
}

TEST_F(EmulatorFaultTest, FreedMemory) {
  check([](void **arguments) { load(array(arguments, fault(arguments) ? 3 : 2), "late"); },
        "read of 4 bytes is out of bounds: .*; late");
}

TEST_F(EmulatorFaultTest, MemoryOfTheHost) {
  check(
      [](void **arguments) {
        static float global = 0.0f;
        float own = 0.0f;
        load(fault(arguments) ? &global : &own, "pointer");
      },
      "read of 4 bytes is out of bounds: .*; pointer");
}

static const float constants[4] = {1, 2, 3, 4};
static float variable = 0.0f;

TEST_F(EmulatorFaultTest, WriteToAConstant) {
  bppsa_emu_add_global(constants, sizeof constants, /*writable=*/0);
  bppsa_emu_add_global(&variable, sizeof variable, /*writable=*/1);
  check(
      [](void **arguments) {
        const float *to = fault(arguments) ? constants : &variable;
        if (bppsa_emu_ctaid_x() == 1)
          bppsa_emu_access(to, 4, BPPSA_EMU_WRITE, "k:3");
        load(constants + 3);
      },
      "write to a constant; k:3");
}

TEST_F(EmulatorFaultTest, MisalignedAccess) {
  check(
      [](void **arguments) {
        bppsa_emu_access(array(arguments) + (fault(arguments) ? 1 : 0), 16,
                         4u << BPPSA_EMU_ALIGNMENT_SHIFT, "vector");
      },
      "read of 16 bytes at an address that is not a multiple of 16; vector");
}

TEST_F(EmulatorFaultTest, BehindSharedMemory) {
  check(
      [](void **arguments) {
        uint32_t last = fault(arguments) ? 256 : 255;
        bppsa_emu_access(shared<float>(last), 4, BPPSA_EMU_WRITE | BPPSA_EMU_SHARED, "k:9");
        bppsa_emu_barrier("end");
      },
      "write of 4 bytes is out of bounds: at byte 1024 of an array of 1024 bytes of shared memory; "
      "k:9",
      /*blockSize=*/1);
}

TEST_F(EmulatorFaultTest, UninitializedSharedMemory) {
  check(
      [](void **arguments) {
        if (!fault(arguments) || bppsa_emu_ctaid_x() == 0)
          store(shared<float>(bppsa_emu_tid_x()), 1.0f);
        bppsa_emu_barrier("filled");
        load(shared<float>(bppsa_emu_tid_x() ^ 1), "k:4");
      },
      "read of shared memory at byte [0-9]+ that nothing has written in this block; k:4");
}

TEST_F(EmulatorFaultTest, RaceWithoutABarrier) {
  check(
      [](void **arguments) {
        uint32_t thread = bppsa_emu_tid_x();
        store(shared<float>(thread), 0.0f, "fill");
        bppsa_emu_barrier("filled");
        store(shared<float>(thread), 1.0f, "k:2");
        if (!fault(arguments))
          bppsa_emu_barrier("between");
        load(shared<float>((thread + 1) % 64), "k:4");
      },
      "race in shared memory at byte [0-9]+: (read|write) with no barrier after the (read|write) "
      "by thread \\([0-9]+, 0, 0\\) \\(k:[24]\\); k:[24]");
}

TEST_F(EmulatorFaultTest, ShufflesDoNotOrderMemory) {
  check(
      [](void **arguments) {
        uint32_t lane = bppsa_emu_laneid();
        store(shared<float>(lane), 1.0f, "k:2");
        if (fault(arguments))
          shuffle(BPPSA_EMU_IDX, 0.0f, 0, 31);
        else
          bppsa_emu_warp_barrier(wholeWarp, "sync");
        load(shared<float>(lane ^ 1), "k:4");
      },
      "race in shared memory at byte [0-9]+: read with no barrier after the write by thread "
      "\\([0-9]+, 0, 0\\) \\(k:2\\); k:4",
      /*blockSize=*/32);
}

TEST_F(EmulatorFaultTest, WarpBarriersDoNotOrderWarps) {
  check(
      [](void **arguments) {
        uint32_t thread = bppsa_emu_tid_x();
        store(shared<float>(thread), 1.0f, "k:2");
        if (fault(arguments))
          bppsa_emu_warp_barrier(wholeWarp, "sync");
        else
          bppsa_emu_barrier("sync");
        store(shared<float>(thread ^ 32), 2.0f, "k:4");
      },
      "race in shared memory at byte [0-9]+: write with no barrier after the write by thread "
      "\\([0-9]+, 0, 0\\) \\(k:[24]\\); k:[24]");
}

TEST_F(EmulatorFaultTest, AtomicAndPlainAccesses) {
  check(
      [](void **arguments) {
        if (bppsa_emu_tid_x() == 0)
          store(shared<float>(), 0.0f);
        bppsa_emu_barrier("zero");
        atomicAdd(shared<float>(), 1.0f, "k:5");
        if (!fault(arguments))
          bppsa_emu_barrier("added");
        if (bppsa_emu_tid_x() == 9)
          load(shared<float>(), "k:8");
      },
      "race in shared memory at byte 0: (read|atomic operation) with no barrier after the "
      "(read|atomic operation) by thread \\([0-9]+, 0, 0\\) \\(k:[58]\\); k:[58]");
}

TEST_F(EmulatorFaultTest, CopyThatNobodyWaitsFor) {
  check(
      [](void **arguments) {
        uint32_t thread = bppsa_emu_tid_x();
        bppsa_emu_copy_async(shared<float>(thread), array(arguments) + thread, 4, 4, "copy");
        bppsa_emu_copy_commit();
        bppsa_emu_copy_wait(fault(arguments) ? 1 : 0);
        bppsa_emu_barrier("arrived");
        load(shared<float>(thread ^ 1), "k:6");
      },
      "read of shared memory at byte [0-9]+ that a cp.async may still be writing: nothing waited "
      "for it; k:6");
}

TEST_F(EmulatorFaultTest, CopyFromOutside) {
  check(
      [](void **arguments) {
        uint32_t thread = bppsa_emu_tid_x() + (fault(arguments) ? 40 : 0);
        bppsa_emu_copy_async(shared<float>(bppsa_emu_tid_x()), array(arguments) + thread, 4, 4,
                             "copy");
        bppsa_emu_copy_wait_all();
      },
      "read of 4 bytes is out of bounds: .*; copy");
}

TEST_F(EmulatorFaultTest, BlocksThatWaitForEver) {
  // First one block never arrives, then all blocks wait for each other.
  check(
      [](void **arguments) {
        auto *counter = argument<uint32_t *>(arguments, 4);
        if (!fault(arguments) || bppsa_emu_ctaid_x() != 1)
          awaitBlocks(counter, 3, "k:1");
      },
      "waits for ever: every other block waits too or has exited; k:1");
  check(
      [](void **arguments) {
        auto *counter = argument<uint32_t *>(arguments, 4);
        awaitBlocks(counter, fault(arguments) ? 4 : 3, "k:1");
      },
      "waits for ever: every other block waits too or has exited; k:1");
}

TEST_F(EmulatorFaultTest, BlocksThatAreNotThereAtATime) {
  auto launch = [](bool cooperative, uint32_t blocks) {
    Emulator emulator;
    DeviceArray<uint32_t> counter(emulator, {0});
    void *arguments[] = {&counter.data};
    auto kernel = [](void **values) {
      awaitBlocks(argument<uint32_t *>(values, 0), bppsa_emu_nctaid_x(), "k:1");
    };
    emulator.launch("planted", kernel, {blocks}, {1024}, arguments, 0, cooperative);
  };
  launch(true, 4);
  launch(false, 1);
  EXPECT_EXIT(launch(false, 4), testing::ExitedWithCode(1),
              "^error: kernel 'planted', block \\(0, 0, 0\\), thread \\(0, 0, 0\\): waits for "
              "other blocks in a launch that is not cooperative; k:1\n$");
  EXPECT_EXIT(launch(true, 33), testing::ExitedWithCode(1),
              "^error: kernel 'planted': a cooperative launch of 33 blocks of 1024 threads; the "
              "emulated GPU holds 32768 threads at a time\n$");
}

TEST_F(EmulatorFaultTest, TheFirstBlockInOrderIsReported) {
  auto kernel = [](void **) {
    // The first block takes longer than the others.
    for (int i = 0; bppsa_emu_ctaid_x() == 0 && i < 100000; ++i)
      bppsa_emu_warp_barrier(wholeWarp, "work");
    if (bppsa_emu_tid_x() == 3)
      bppsa_emu_trap("k:1");
  };
  for (int threads : {1, 2, 3})
    EXPECT_EXIT(run(kernel, true, 0, threads, 32), testing::ExitedWithCode(1),
                "^error: kernel 'planted', block \\(0, 0, 0\\), thread \\(3, 0, 0\\): trap; "
                "k:1\n$");
}

TEST_F(EmulatorFaultTest, TrapAndMmaInHalfAWarp) {
  check(
      [](void **arguments) {
        if (fault(arguments))
          bppsa_emu_trap("k:1");
      },
      "trap; k:1");
  auto multiply = [](void **) {
    uint32_t a[4] = {}, b[2] = {};
    float c[4] = {}, d[4];
    bppsa_emu_mma_m16n8k8_tf32(a, b, c, d, "mma");
  };
  EXPECT_EXIT(run(multiply, true, 0, 1, 16), testing::ExitedWithCode(1),
              "thread \\(0, 0, 0\\): mma in a warp that has less than 32 threads; mma\n$");
}

TEST_F(EmulatorFaultTest, LaunchesThatNoGPUTakes) {
  auto nothing = [](void **) {};
  auto launch = [&](Dimensions grid, Dimensions block, uint64_t sharedBytes) {
    Emulator().launch("big", nothing, grid, block, nullptr, sharedBytes);
  };
  launch({1, 65535, 1}, {1}, 0);
  launch({1}, {1024}, 232448);
  EXPECT_EXIT(launch({1}, {1025}, 0), testing::ExitedWithCode(1),
              "^error: kernel 'big': a block of \\(1025, 1, 1\\) threads; at most 1024 threads");
  EXPECT_EXIT(launch({1}, {32, 0}, 0), testing::ExitedWithCode(1), "a block of \\(32, 0, 1\\)");
  EXPECT_EXIT(launch({1}, {1, 1, 65}, 0), testing::ExitedWithCode(1), "a block of \\(1, 1, 65\\)");
  EXPECT_EXIT(launch({1, 65536}, {1}, 0), testing::ExitedWithCode(1),
              "^error: kernel 'big': a grid of \\(1, 65536, 1\\) blocks");
  EXPECT_EXIT(launch({1}, {1}, 232449), testing::ExitedWithCode(1),
              "^error: kernel 'big': 232449 bytes of shared memory; at most 232448\n$");
}

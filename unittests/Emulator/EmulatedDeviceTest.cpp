//===- EmulatedDeviceTest.cpp - the memory of the emulated device ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "bppsa/Runtime/Device/Device.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;

/// Reads element `index` of an array.
static void readElement(void **arguments) {
  load(argument<float *>(arguments, 0) + argument<int64_t>(arguments, 1), "reader");
}

static const bppsa_device_kernel kernels[] = {{"read", readElement}, {nullptr, nullptr}};

/// Reads element `index` of one of three small arrays that are neighbours in the arena.
static void readNear(int64_t count, int64_t index) {
  std::unique_ptr<Device> device(bppsa_make_emulated_device(kernels));
  uint64_t bytes = count * sizeof(float);
  device->reserveArena(3 * bytes);
  void *arrays[3];
  for (int i : {0, 1, 2}) {
    arrays[i] = device->takeSlice(i * bytes, bytes);
    device->fill(arrays[i], 0, bytes);
  }
  void *arguments[] = {&arrays[1], &index};
  device->launch(0, {{1, 1, 1}, {1, 1, 1}}, arguments, 2);
  for (void *array : arrays)
    device->dropSlice(array);
}

TEST(EmulatedDeviceTest, ArraysHaveNoNeighbours) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int64_t count : {1, 100, 1000, 100000}) {
    readNear(count, 0);
    readNear(count, count - 1);
    for (int64_t index : {-1 - count / 2, int64_t(-1), count, count + count / 2})
      EXPECT_EXIT(readNear(count, index), testing::ExitedWithCode(1),
                  "^error: kernel 'read', block \\(0, 0, 0\\), thread \\(0, 0, 0\\): read of 4 "
                  "bytes is out of bounds: .*; reader\n$")
          << index << " of " << count;
  }
}

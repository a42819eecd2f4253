//===- EmulatedDeviceTest.cpp - the memory of the emulated device ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;

static void readElement(void **arguments) {
  load(argument<float *>(arguments, 0) + argument<int64_t>(arguments, 1), "reader");
}

static void addOne(void **arguments) {
  store(argument<float *>(arguments, 1), load(argument<float *>(arguments, 0)) + 1);
}

static const bppsa_device_kernel kernels[] = {
    {"read", readElement}, {"add_one", addOne}, {nullptr, nullptr}};

/// Reads element `index` of the middle one of three adjacent arrays in the arena.
static void readNear(int64_t count, int64_t index) {
  std::unique_ptr<Device> device(bppsa_make_emulated_device(kernels));
  uint64_t bytes = count * sizeof(float);
  device->reserveArena(3 * bytes);
  void *arrays[3];
  for (int i : {0, 1, 2}) {
    arrays[i] = device->allocateSlice(i * bytes, bytes);
    device->fill(arrays[i], 0, bytes);
  }
  void *arguments[] = {&arrays[1], &index};
  device->launch(0, {{1, 1, 1}, {1, 1, 1}}, arguments, 2);
  for (void *array : arrays)
    device->freeSlice(array);
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

//===----------------------------------------------------------------------===//
// Two streams
//===----------------------------------------------------------------------===//

namespace {
/// A call on a device whose streams run in the order given by a seed: 0 for a late sub stream, 1
/// for an early one.
class EmulatedCall {
public:
  explicit EmulatedCall(uint64_t seed) {
    setEmulationSeed(seed);
    device.reset(bppsa_make_emulated_device(kernels));
    setEmulationSeed(0);
    device->reserveArena(1024);
    device->beginCall();
    device->selectStream(0);
  }

  void *allocate() {
    void *array = device->allocate(sizeof(float));
    device->fill(array, 0, sizeof(float));
    return array;
  }
  void addOne(void *from, void *to) {
    void *arguments[] = {&from, &to};
    device->launch(1, {{1, 1, 1}, {1, 1, 1}}, arguments, 2);
  }
  void switchTo(int64_t stream, bool waits) {
    device->recordEvent(7);
    device->selectStream(stream);
    if (waits)
      device->waitEvent(7);
  }
  float read(void *array) {
    float value = -1;
    device->selectStream(1);
    switchTo(0, true);
    device->endCall();
    device->copyToHost(&value, array, sizeof value);
    device->synchronize();
    return value;
  }

  std::unique_ptr<Device> device;
};

/// Returns the message of the Error thrown by `action`.
template <typename Action> std::string errorOf(Action &&action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}
} // namespace

/// The main stream adds one, the sub stream adds one to its result, and the main stream adds one
/// again. The result is 3 if the streams wait for each other.
static float addOnTwoStreams(uint64_t seed, bool subWaits, bool mainWaits) {
  EmulatedCall call(seed);
  void *arrays[4];
  for (void *&array : arrays)
    array = call.allocate();
  call.addOne(arrays[0], arrays[1]);
  call.switchTo(1, subWaits);
  call.addOne(arrays[1], arrays[2]);
  call.switchTo(0, mainWaits);
  call.addOne(arrays[2], arrays[3]);
  return call.read(arrays[3]);
}

TEST(EmulatedDeviceTest, StreamsWaitForEvents) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(addOnTwoStreams(seed, true, true), 3) << seed;
}

TEST(EmulatedDeviceTest, MissingEventsShow) {
  EXPECT_EQ(addOnTwoStreams(/*seed=*/1, false, true), 2) << "the sub stream was early";
  EXPECT_EQ(addOnTwoStreams(/*seed=*/0, true, false), 1) << "the sub stream was late";
}

TEST(EmulatedDeviceTest, DrawnOrdersDiffer) {
  bool early = false, late = false;
  for (uint64_t seed = 2; seed < 40; ++seed) {
    float found = addOnTwoStreams(seed, false, false);
    late |= found == 1;
    early |= found == 3;
  }
  EXPECT_TRUE(early);
  EXPECT_TRUE(late);
}

static const char refusal[] =
    "kernel 'add_one' uses memory of the arena for which the other stream may still have a use: "
    "streams do not wait for each other as they must; compile the model again";

/// The main stream reuses arena memory that the sub stream used before.
static void shareArena(bool mainWaits) {
  EmulatedCall call(/*seed=*/0);
  void *source = call.allocate();
  void *first = call.device->allocateSlice(0, 512);
  call.switchTo(1, true);
  call.addOne(source, first);
  call.addOne(first, source);
  call.switchTo(0, mainWaits);
  call.device->freeSlice(first);
  void *other = call.allocate(), *second = call.device->allocateSlice(256, 512);
  call.addOne(other, second);
  call.device->freeSlice(second);
  call.device->endCall();
}

TEST(EmulatedDeviceTest, StreamsDoNotShareTheArena) {
  EXPECT_EQ(errorOf([] { shareArena(true); }), "no error");
  EXPECT_EQ(errorOf([] { shareArena(false); }), refusal);
}

/// The sub stream reuses arena memory that the main stream used before the call had two streams.
static void reuseArenaInSubStream(bool subWaits) {
  EmulatedCall call(/*seed=*/0);
  void *source = call.allocate();
  call.device->endCall();
  void *first = call.device->allocateSlice(0, 256);
  call.addOne(source, first);
  call.device->selectStream(0);
  call.addOne(source, call.allocate());
  call.device->freeSlice(first);
  void *second = call.device->allocateSlice(0, 256);
  call.switchTo(1, subWaits);
  call.addOne(source, second);
  call.switchTo(0, true);
  call.device->freeSlice(second);
  call.device->endCall();
}

TEST(EmulatedDeviceTest, TheSubStreamWaitsForMemory) {
  EXPECT_EQ(errorOf([] { reuseArenaInSubStream(true); }), "no error");
  EXPECT_EQ(errorOf([] { reuseArenaInSubStream(false); }), refusal);
}

TEST(EmulatedDeviceTest, CallsEndOnOneStream) {
  EXPECT_EQ(
      errorOf([] {
        EmulatedCall call(0);
        call.device->selectStream(1);
        call.addOne(call.allocate(), call.allocate());
        call.device->selectStream(0);
        call.device->endCall();
      }),
      "a function ends before the main stream has waited for the sub stream; compile the model "
      "again");
}

TEST(EmulatedDeviceTest, EventsAreRecordedBefore) {
  EXPECT_EQ(errorOf([] {
              EmulatedCall call(0);
              call.device->waitEvent(3);
            }),
            "a function waits for event 3, which it has not recorded; compile the model again");
}

//===- EmulatedDevice.cpp - a device emulated on the CPU ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedStreams.h"
#include "bppsa/Emulator/Emulator.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

using namespace bppsa::runtime;

namespace {
/// Executes synchronously, except launches of functions with two streams, which run at the end of
/// the call. Unsynchronized use of overlapping arena slices by both streams is rejected.
class EmulatedDevice : public Device {
public:
  /// Out-of-bounds accesses are detected at the boundaries of allocations.
  explicit EmulatedDevice(const bppsa_device_kernel *kernels)
      : Device(/*hasSeparateSlices=*/true), kernels(kernels) {
    emulator.setSeed(emulationSeed());
    emulator.setThreads(threads());
    streams.setSeed(emulationSeed());
  }

  void copyToDevice(void *to, const void *from, uint64_t bytes) override {
    finishStreams();
    copy(to, from, bytes);
  }
  void copyToHost(void *to, const void *from, uint64_t bytes) override {
    finishStreams();
    copy(to, from, bytes);
  }
  void prefetchArray(void *to, const void *from, uint64_t bytes) override { copy(to, from, bytes); }
  void takePrefetched(void *to, const void *from, uint64_t bytes) override {
    copy(to, from, bytes);
  }
  void fill(void *to, uint8_t value, uint64_t bytes) override { memset(to, value, bytes); }
  void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) override;
  void endCall() override;
  void selectStream(int64_t stream) override;
  void recordEvent(int64_t event) override { streams.record(event); }
  void waitEvent(int64_t event) override { streams.wait(event); }
  void synchronize() override { finishStreams(); }
  double seconds(StepMark from, StepMark to) override {
    return times[static_cast<int>(to)] - times[static_cast<int>(from)];
  }
  std::string description() const override { return "emulated on the CPU"; }
  int64_t multiprocessors() const override {
    return std::min<int64_t>(threads(), Emulator::multiprocessors);
  }
  MemoryInfo memoryInfo() override { return {}; }

protected:
  void note(StepMark which) override { times[static_cast<int>(which)] = now(); }
  void *obtain(uint64_t size) override { return emulator.allocate(size); }
  void releaseMemory(void *memory) override;
  void recordSlice(void *slice, uint64_t offset, uint64_t size) override {
    slices[static_cast<char *>(slice)] = {offset, size};
  }
  bool fits(const std::vector<void *> &, const std::vector<uint64_t> &) override { return true; }

private:
  static void copy(void *to, const void *from, uint64_t bytes) {
    if (bytes > 0)
      memcpy(to, from, bytes);
  }

  /// A slice, and the work queued on each stream at its last use.
  struct Slice {
    uint64_t offset, size;
    uint64_t used[2] = {};

    bool overlaps(const Slice &other) const {
      return offset < other.offset + other.size && other.offset < offset + size;
    }
  };

  void run(const bppsa_device_kernel &kernel, const LaunchSize &size, void **arguments);
  void finishStreams();
  void checkSliceUse(const char *kernel, const void *address);

  const bppsa_device_kernel *kernels;
  Emulator emulator;
  emulator::EmulatedStreams streams;
  bool hasStreams = false;
  std::map<char *, Slice> slices;
  /// Queued launches may still use it.
  std::vector<void *> released;
  double times[kStepMarks] = {};
};
} // namespace

static Dimensions dimensionsOf(const std::array<int64_t, 3> &extents) {
  return {static_cast<uint32_t>(extents[0]), static_cast<uint32_t>(extents[1]),
          static_cast<uint32_t>(extents[2])};
}

/// Returns true if the launch is within the limits of every supported GPU.
static bool fitsGpu(const LaunchSize &size) {
  static constexpr std::array<int64_t, 3> grid = {INT32_MAX, 65535, 65535};
  static constexpr std::array<int64_t, 3> block = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i)
    if (size.grid[i] < 1 || size.grid[i] > grid[i] || size.block[i] < 1 || size.block[i] > block[i])
      return false;
  return size.block[0] * size.block[1] * size.block[2] <= 1024;
}

void EmulatedDevice::launch(int64_t index, const LaunchSize &size, void **arguments,
                            int64_t count) {
  const bppsa_device_kernel &kernel = kernels[index];
  if (!fitsGpu(size))
    fail("launching ", quote(kernel.name), " failed: a GPU cannot run ", size.describe());
  if (!hasStreams)
    return run(kernel, size, arguments);
  std::vector<uint64_t> values(count);
  for (int64_t i = 0; i < count; ++i)
    memcpy(&values[i], arguments[i], sizeof values[i]);
  for (uint64_t value : values)
    checkSliceUse(kernel.name, reinterpret_cast<void *>(value));
  streams.add([this, &kernel, size, values]() mutable {
    std::vector<void *> addresses;
    for (uint64_t &value : values)
      addresses.push_back(&value);
    run(kernel, size, addresses.data());
  });
}

void EmulatedDevice::run(const bppsa_device_kernel &kernel, const LaunchSize &size,
                         void **arguments) {
  emulator.launch(kernel.name, kernel.emulated, dimensionsOf(size.grid), dimensionsOf(size.block),
                  arguments, /*sharedBytes=*/0, size.cooperative);
}

void EmulatedDevice::selectStream(int64_t stream) {
  streams.select(stream);
  if (std::exchange(hasStreams, true))
    return;
  for (auto &entry : slices)
    entry.second.used[0] = 1;
}

void EmulatedDevice::finishStreams() {
  streams.run();
  for (void *memory : std::exchange(released, {}))
    releaseMemory(memory);
}

void EmulatedDevice::endCall() {
  if (!streams.isJoined())
    fail("a function ends before the main stream has waited for the sub stream; compile the model "
         "again");
  finishStreams();
  hasStreams = false;
}

void EmulatedDevice::releaseMemory(void *memory) {
  if (!streams.isEmpty()) {
    released.push_back(memory);
    return;
  }
  slices.erase(static_cast<char *>(memory));
  emulator.release(memory);
}

void EmulatedDevice::checkSliceUse(const char *kernel, const void *address) {
  const auto *byte = static_cast<const char *>(address);
  auto next = slices.upper_bound(const_cast<char *>(byte));
  if (next == slices.begin())
    return;
  auto found = std::prev(next);
  Slice &slice = found->second;
  if (static_cast<uint64_t>(byte - found->first) >= slice.size)
    return;
  int64_t stream = streams.getSelected();
  slice.used[stream] = streams.given() + 1;
  for (const auto &[memory, other] : slices)
    if (&other != &slice && other.overlaps(slice) && other.used[1 - stream] > streams.waited())
      fail("kernel ", quote(kernel),
           " uses memory of the arena for which the other stream may still "
           "have a use: streams do not wait for each other as they must; compile the model again");
}

Device *bppsa_make_emulated_device(const bppsa_device_kernel *kernels) {
  return new EmulatedDevice(kernels);
}

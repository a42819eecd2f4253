//===- EmulatedDevice.cpp - device kernels on the CPU ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Emulator/Emulator.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

namespace {
/// Does everything within the call.
class EmulatedDevice : public Device {
public:
  /// Out-of-bounds accesses are found at the ends of blocks, so slices are blocks.
  explicit EmulatedDevice(const bppsa_device_kernel *kernels)
      : Device(/*slicesAreApart=*/true), kernels(kernels) {
    emulator.setSeed(emulationSeed());
    emulator.setThreads(threads());
  }

  void copyToDevice(void *to, const void *from, uint64_t bytes) override { copy(to, from, bytes); }
  void copyToHost(void *to, const void *from, uint64_t bytes) override { copy(to, from, bytes); }
  void copyAhead(void *to, const void *from, uint64_t bytes) override { copy(to, from, bytes); }
  void takeAhead(void *to, const void *from, uint64_t bytes) override { copy(to, from, bytes); }
  void fill(void *to, uint8_t value, uint64_t bytes) override { memset(to, value, bytes); }
  void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) override;
  void synchronize() override {}
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
  void giveBack(void *memory) override { emulator.release(memory); }
  bool fits(const std::vector<void *> &, const std::vector<uint64_t> &) override { return true; }

private:
  static void copy(void *to, const void *from, uint64_t bytes) {
    if (bytes > 0)
      memcpy(to, from, bytes);
  }

  const bppsa_device_kernel *kernels;
  Emulator emulator;
  double times[stepMarks] = {};
};
} // namespace

static Dimensions dimensionsOf(const std::array<int64_t, 3> &extents) {
  return {static_cast<uint32_t>(extents[0]), static_cast<uint32_t>(extents[1]),
          static_cast<uint32_t>(extents[2])};
}

/// The bounds of every GPU that the compiler makes code for.
static bool fitsGpu(const LaunchSize &size) {
  static constexpr std::array<int64_t, 3> grid = {INT32_MAX, 65535, 65535};
  static constexpr std::array<int64_t, 3> block = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i)
    if (size.grid[i] < 1 || size.grid[i] > grid[i] || size.block[i] < 1 || size.block[i] > block[i])
      return false;
  return size.block[0] * size.block[1] * size.block[2] <= 1024;
}

void EmulatedDevice::launch(int64_t index, const LaunchSize &size, void **arguments, int64_t) {
  const bppsa_device_kernel &kernel = kernels[index];
  if (!fitsGpu(size))
    fail("launching ", quote(kernel.name), " failed: a GPU cannot run ", size.describe());
  emulator.launch(kernel.name, kernel.emulated, dimensionsOf(size.grid), dimensionsOf(size.block),
                  arguments, /*sharedBytes=*/0, size.cooperative);
}

Device *bppsa_make_emulated_device(const bppsa_device_kernel *kernels) {
  return new EmulatedDevice(kernels);
}

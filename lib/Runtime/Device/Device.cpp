//===- Device.cpp - Devices that run kernels ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace bppsa::runtime;

std::string bppsa::runtime::describeBytes(uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; unit < 6 && value >= 1024; ++unit)
    value /= 1024;
  char line[40];
  snprintf(line, sizeof line, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return line;
}

static bool isSet(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

Device::Device(bool hasSeparateSlices)
    : hasSeparateSlices(hasSeparateSlices), poisons(isSet("BPPSA_POISON")) {}

void Device::count(uint64_t size) {
  live += size;
  peak = std::max(peak, live);
}

void Device::poison(void *memory, uint64_t size) {
  if (poisons)
    fill(memory, 0xff, size);
}

void *Device::allocate(uint64_t size) {
  void *memory = obtain(size);
  if (!memory) {
    MemoryInfo found = memoryInfo();
    fail("the device is out of memory: ", describeBytes(live), " are in use, ", describeBytes(size),
         " more are needed, ", describeBytes(found.free), " of ", describeBytes(found.total),
         " are free; use a smaller --batch or less data");
  }
  sizes[memory] = size;
  count(size);
  poison(memory, size);
  return memory;
}

void Device::release(void *memory) {
  if (!memory)
    return;
  auto found = sizes.find(memory);
  if (found == sizes.end())
    fail("freed device memory that is not in use; compile the model again");
  live -= found->second;
  sizes.erase(found);
  releaseMemory(memory);
}

void Device::reserveArena(uint64_t size) {
  if (size <= arenaSize)
    return;
  releaseArena();
  if (hasSeparateSlices)
    count(size);
  else
    arena = allocate(size);
  arenaSize = size;
}

void Device::releaseArena() {
  if (hasSeparateSlices)
    live -= arenaSize;
  release(arena);
  arena = nullptr;
  arenaSize = 0;
}

void *Device::allocateSlice(uint64_t offset, uint64_t size) {
  if (offset > arenaSize || size > arenaSize - offset)
    fail("a function needs ", describeBytes(size), " at ", offset, " of an arena of ",
         describeBytes(arenaSize), "; compile the model again");
  void *slice = hasSeparateSlices ? obtain(size) : static_cast<char *>(arena) + offset;
  recordSlice(slice, offset, size);
  poison(slice, size);
  return slice;
}

void Device::freeSlice(void *memory) {
  if (hasSeparateSlices)
    releaseMemory(memory);
}

bool Device::fits(const std::vector<void *> &released, const std::vector<uint64_t> &wanted,
                  uint64_t arenaWanted) {
  std::vector<void *> before = released;
  std::vector<uint64_t> after = wanted;
  if (arenaWanted > arenaSize) {
    after.insert(after.begin(), arenaWanted);
    if (arena)
      before.push_back(arena);
  }
  return fits(before, after);
}

static uint64_t seed = 0;

void bppsa::runtime::setEmulationSeed(uint64_t value) { seed = value; }
uint64_t bppsa::runtime::emulationSeed() { return seed; }

Device *bppsa::runtime::programDevice() {
  if (!isDeviceProgram())
    return nullptr;
  // Never destroyed: static destructors may release memory after the driver is gone.
  static Device *device = isEmulatedProgram()
                              ? bppsa_make_emulated_device(bppsa_device_kernels)
                              : makeCudaDevice(bppsa_device_kernels, bppsa_device_images).release();
  return device;
}

std::string LaunchSize::describe() const {
  auto words = [](const std::array<int64_t, 3> &extents) {
    return list(std::vector<int64_t>(extents.begin(), extents.end()));
  };
  return text(words(grid), " blocks of ", words(block), " threads");
}

static void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) {
  if (size.grid[0] != 0 && size.grid[1] != 0 && size.grid[2] != 0)
    orFail([&] { programDevice()->launch(kernel, size, arguments, count); });
}

void bppsa_rt_launch(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                     int64_t blockY, int64_t blockZ, void **arguments, int64_t count) {
  launch(kernel, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}}, arguments, count);
}

void bppsa_rt_launch_cooperative(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                 int64_t blockX, int64_t blockY, int64_t blockZ, void **arguments,
                                 int64_t count) {
  launch(kernel, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, /*cooperative=*/true}, arguments,
         count);
}

void bppsa_rt_select_stream(int64_t stream) {
  orFail([&] { programDevice()->selectStream(stream); });
}

void bppsa_rt_record_event(int64_t event) {
  orFail([&] { programDevice()->recordEvent(event); });
}

void bppsa_rt_wait_event(int64_t event) {
  orFail([&] { programDevice()->waitEvent(event); });
}

int64_t bppsa_rt_multiprocessors() {
  int64_t count = 0;
  orFail([&] { count = programDevice()->multiprocessors(); });
  return count;
}

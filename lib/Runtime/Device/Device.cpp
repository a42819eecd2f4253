//===- Device.cpp - Where device kernels run ------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace bppsa::runtime;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::string bppsa::runtime::describeBytes(uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; unit < 3 && value >= 1024; ++unit)
    value /= 1024;
  char line[40];
  snprintf(line, sizeof line, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return line;
}

static bool isSet(const char *variable) {
  const char *value = getenv(variable);
  return value && *value && strcmp(value, "0") != 0;
}

Device::Device() : poisons(isSet("BPPSA_POISON")) {}

void Device::noteBatch(int64_t count, uint64_t fixedBytes) {
  samples = count;
  fixed = fixedBytes;
}

std::string Device::describeShortage(uint64_t size) {
  Room found = room();
  std::string line = text("the device is out of memory: ", describeBytes(live), " are in use, ",
                          describeBytes(size), " more are needed, ", describeBytes(found.free),
                          " of ", describeBytes(found.total), " are free");
  uint64_t needed = live + size, usable = live + found.free;
  if (samples < 1 || needed <= fixed)
    return line + "; use a smaller --batch or less data";
  // The batch may need more than it has asked for by now, so this is at most what fits.
  double forEach = static_cast<double>(needed - fixed) / static_cast<double>(samples);
  double spare = usable > fixed ? static_cast<double>(usable - fixed) : 0.0;
  auto fitting = static_cast<int64_t>(0.95 * spare / forEach);
  if (fitting < 1)
    return text(line, "; not even one sample fits: use shorter sequences or a smaller model");
  return text(line, "; a batch of ", samples, " is too large, about ",
              std::min(fitting, samples - 1),
              " samples would fit: use a smaller --batch or less data");
}

void *Device::allocate(uint64_t size) {
  void *memory = obtain(size);
  if (!memory)
    fail(describeShortage(size));
  sizes[memory] = size;
  live += size;
  peak = std::max(peak, live);
  if (poisons)
    fill(memory, 0xff, size);
  return memory;
}

void Device::release(void *memory) {
  if (!memory)
    return;
  auto found = sizes.find(memory);
  if (found == sizes.end())
    fail("memory of the device is released that is not in use; compile the model again");
  live -= found->second;
  sizes.erase(found);
  giveBack(memory);
}

//===----------------------------------------------------------------------===//
// The program's device
//===----------------------------------------------------------------------===//

static uint64_t seed = 0;

void bppsa::runtime::setEmulationSeed(uint64_t value) { seed = value; }
uint64_t bppsa::runtime::emulationSeed() { return seed; }

Device *bppsa::runtime::programDevice() {
  if (!isDeviceProgram())
    return nullptr;
  // Never destroyed: memory may be released by static destructors, and the driver may be gone then.
  static Device *device =
      (isEmulatedProgram() ? makeEmulatedDevice(bppsa_device_kernels)
                           : makeCudaDevice(bppsa_device_kernels, bppsa_device_images))
          .release();
  return device;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

std::string LaunchSize::describe() const {
  auto words = [](const std::array<int64_t, 3> &extents) {
    return list(std::vector<int64_t>(extents.begin(), extents.end()));
  };
  return text(words(grid), " blocks of ", words(block), " threads");
}

void bppsa_rt_launch(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                     int64_t blockY, int64_t blockZ, void **arguments) {
  if (gridX == 0 || gridY == 0 || gridZ == 0)
    return;
  orExit([&] {
    programDevice()->launch(kernel, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}}, arguments);
  });
}

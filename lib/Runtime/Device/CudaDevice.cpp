//===- CudaDevice.cpp - a GPU behind the CUDA driver ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One GPU, one stream: everything happens in the order of the calls, so that a block of memory may
// be used again as soon as it was released.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"
#include "CudaStaging.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Device/DeviceHeap.h"

#include <algorithm>
#include <optional>
#include <vector>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

static Address addressOf(const void *memory) { return reinterpret_cast<uintptr_t>(memory); }

namespace {
class CudaDevice : public Device {
public:
  CudaDevice(const bppsa_device_kernel *kernels, const bppsa_device_image *images);

  void copyToDevice(void *to, const void *from, uint64_t bytes) override;
  void copyToHost(void *to, const void *from, uint64_t bytes) override;
  void fill(void *to, uint8_t value, uint64_t bytes) override;
  void launch(int64_t kernel, const LaunchSize &size, void **arguments) override;
  void synchronize() override;
  void mark(StepMark which) override;
  double seconds(StepMark from, StepMark to) override;
  std::string description() const override;

protected:
  Room room() override;
  void *obtain(uint64_t size) override { return heap.allocate(size); }
  void giveBack(void *memory) override { heap.release(memory); }

private:
  /// A kernel of the program; its handle is looked up at the first launch.
  struct Kernel {
    const char *name;
    Function function = nullptr;
  };

  void *allocateBlock(uint64_t size);
  Function functionOf(Kernel &kernel);
  /// Like Driver::check(), where the error may be that of a kernel that was started before.
  template <typename... Words> void checkWork(Result result, const Words &...what) const;

  Driver driver;
  int major = 0, minor = 0;
  std::string name;
  Module module = nullptr;
  std::vector<Kernel> kernels;
  Stream stream = nullptr;
  std::optional<Staging> staging;
  DeviceHeap heap;
  Event marks[stepMarks] = {};
  /// The last launches, for messages: the next one replaces the oldest.
  const char *recent[8] = {};
  size_t launches = 0;
};
} // namespace

template <typename... Words> void CudaDevice::checkWork(Result result, const Words &...what) const {
  if (result == 0)
    return;
  std::vector<std::string> names;
  for (size_t i = launches - std::min(launches, std::size(recent)); i < launches; ++i)
    names.push_back(quote(recent[i % std::size(recent)]));
  std::string before =
      names.empty() ? ""
                    : text("; the last kernels before were ", list(names),
                           ", CUDA_LAUNCH_BLOCKING=1 in the environment stops where one fails");
  fail(what..., " failed: ", driver.describe(result), before);
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

CudaDevice::CudaDevice(const bppsa_device_kernel *table, const bppsa_device_image *images)
    : heap({[this](uint64_t size) { return allocateBlock(size); },
            [this](void *block) {
              driver.check(driver.memFree(addressOf(block)), "freeing memory of the GPU");
            }}) {
  DeviceNumber device = 0;
  driver.check(driver.deviceGet(&device, 0), "opening the first GPU");
  char words[128] = "";
  driver.check(driver.deviceGetName(words, sizeof words, device), "naming the GPU");
  name = words;
  driver.check(driver.deviceGetAttribute(&major, computeMajor, device),
               "asking for the GPU's kind");
  driver.check(driver.deviceGetAttribute(&minor, computeMinor, device),
               "asking for the GPU's kind");
  Context context = nullptr;
  driver.check(driver.devicePrimaryCtxRetain(&context, device), "starting work on ", name);
  driver.check(driver.ctxSetCurrent(context), "starting work on ", name);
  module = loadImage(driver, images, major, minor);
  driver.check(driver.streamCreate(&stream, nonBlockingStream), "creating a stream");
  staging.emplace(driver, stream);
  for (Event &event : marks)
    driver.check(driver.eventCreate(&event, eventWithTime), "creating an event");
  for (; table->name; ++table)
    kernels.push_back({table->name});
}

Device::Room CudaDevice::room() {
  size_t free = 0, total = 0;
  driver.check(driver.memGetInfo(&free, &total), "asking for the GPU's memory");
  return {free + heap.unusedBytes(), total};
}

void *CudaDevice::allocateBlock(uint64_t size) {
  Address block = 0;
  Result result = driver.memAlloc(&block, size);
  if (result == outOfMemory)
    return nullptr;
  checkWork(result, "allocating ", describeBytes(size));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(block));
}

std::string CudaDevice::description() const { return text(name, " (sm_", major, minor, ")"); }

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void CudaDevice::copyToDevice(void *to, const void *from, uint64_t bytes) {
  staging->upload(addressOf(to), from, bytes);
}

void CudaDevice::copyToHost(void *to, const void *from, uint64_t bytes) {
  if (bytes > 0)
    staging->download(to, addressOf(from), bytes);
}

void CudaDevice::fill(void *to, uint8_t value, uint64_t bytes) {
  if (bytes > 0)
    driver.check(driver.memsetD8Async(addressOf(to), value, bytes, stream), "filling ",
                 describeBytes(bytes), " of the GPU");
}

Function CudaDevice::functionOf(Kernel &kernel) {
  if (!kernel.function)
    driver.check(driver.moduleGetFunction(&kernel.function, module, kernel.name), "kernel ",
                 quote(kernel.name));
  return kernel.function;
}

void CudaDevice::launch(int64_t index, const LaunchSize &size, void **arguments) {
  Kernel &kernel = kernels.at(index);
  const std::array<int64_t, 3> &grid = size.grid, &block = size.block;
  // The driver takes 32 bits, and would see another number in place of a larger one.
  for (int64_t extent : {grid[0], grid[1], grid[2], block[0], block[1], block[2]})
    if (extent < 0 || extent > INT32_MAX)
      fail("kernel ", quote(kernel.name), ": a launch of ", extent,
           " blocks or threads is too large; use a smaller --batch or shorter sequences");
  auto number = [](int64_t extent) { return static_cast<unsigned>(extent); };
  checkWork(driver.launchKernel(functionOf(kernel), number(grid[0]), number(grid[1]),
                                number(grid[2]), number(block[0]), number(block[1]),
                                number(block[2]), /*sharedBytes=*/0, stream, arguments, nullptr),
            "launching ", quote(kernel.name), " with ", size.describe());
  recent[launches++ % std::size(recent)] = kernel.name;
}

void CudaDevice::synchronize() {
  checkWork(driver.streamSynchronize(stream), "work on the GPU");
  staging->finish();
  launches = 0;
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void CudaDevice::mark(StepMark which) {
  checkWork(driver.eventRecord(marks[static_cast<int>(which)], stream), "noting the time");
}

double CudaDevice::seconds(StepMark from, StepMark to) {
  float milliseconds = 0;
  driver.check(driver.eventElapsedTime(&milliseconds, marks[static_cast<int>(from)],
                                       marks[static_cast<int>(to)]),
               "reading the GPU's clock");
  return static_cast<double>(milliseconds) * 1e-3;
}

std::unique_ptr<Device> bppsa::runtime::makeCudaDevice(const bppsa_device_kernel *kernels,
                                                       const bppsa_device_image *images) {
  return std::make_unique<CudaDevice>(kernels, images);
}

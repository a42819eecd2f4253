//===- CudaDevice.cpp - A GPU used through the CUDA driver ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The main stream executes in call order, so released memory can be reused at once. Memory that the
// sub stream may use is not reused before the main stream has waited for it. Copies ahead have a
// third stream.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"
#include "CudaGraphs.h"
#include "CudaStaging.h"
#include "CudaStreams.h"
#include "Device/DeviceHeap.h"
#include "bppsa/Runtime/Device/Device.h"

#include <algorithm>
#include <deque>
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
  void prefetchArray(void *to, const void *from, uint64_t bytes) override;
  void takePrefetched(void *to, const void *from, uint64_t bytes) override;
  void beginPrefetch() override;
  void endPrefetch() noexcept override { driver.streamWaitEvent(streams->main(), aheadCopied, 0); }
  void fill(void *to, uint8_t value, uint64_t bytes) override;
  void launch(int64_t kernel, const LaunchSize &size, void **arguments, int64_t count) override;
  void beginCall() override { collects = graphs->areUsed(); }
  void endCall() override;
  void selectStream(int64_t stream) override { streams->select(stream); }
  void recordEvent(int64_t event) override;
  void waitEvent(int64_t event) override;
  void synchronize() override;
  double seconds(StepMark from, StepMark to) override;
  std::string description() const override;
  int64_t multiprocessors() const override { return processors; }
  MemoryInfo memoryInfo() override;

protected:
  void note(StepMark which) override;
  void *obtain(uint64_t size) override { return heap.allocate(size); }
  void releaseMemory(void *memory) override;
  bool fits(const std::vector<void *> &released, const std::vector<uint64_t> &sizes) override {
    return heap.fits(released, sizes, memoryInfo().free - heap.unusedBytes());
  }

private:
  struct Kernel {
    const char *name;
    Function function = nullptr;
  };

  void *allocateBlock(uint64_t size);
  Function functionOf(Kernel &kernel);
  void openAhead();
  const char *nameOf(const KernelLaunch &launch) const;
  void startCooperatively(Kernel &kernel, const LaunchSize &size, void **arguments);
  void start(KernelLaunch &launch, Stream stream);
  void flush();
  void flushUnlessCollecting();
  void releaseUnused();
  /// Checks operations whose errors may stem from an earlier kernel.
  template <typename... Words> void checkWork(Result result, const Words &...what) const;

  Driver driver;
  int major = 0, minor = 0, processors = 0;
  std::string name;
  Module module = nullptr;
  std::vector<Kernel> kernels;
  std::optional<Streams> streams;
  std::optional<Staging> staging;
  Stream aheadStream = nullptr;
  std::optional<Staging> aheadStaging;
  Event aheadCopied = nullptr, aheadTaken = nullptr;
  std::optional<Graphs> graphs;
  bool collects = false;
  DeviceHeap heap;
  /// Memory that the sub stream may still use, with the stream's launch count at its release.
  std::deque<std::pair<void *, uint64_t>> releasedLater;
  Event marks[kStepMarks] = {};
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
      names.empty()
          ? ""
          : text(
                "; the last kernels before were ", list(names),
                "; set CUDA_LAUNCH_BLOCKING=1 in the environment to stop at the launch that fails");
  fail(what..., " failed: ", driver.describe(result), before);
}

CudaDevice::CudaDevice(const bppsa_device_kernel *table, const bppsa_device_image *images)
    : Device(/*hasSeparateSlices=*/false),
      heap({[this](uint64_t size) { return allocateBlock(size); },
            [this](void *block) {
              flush();
              driver.check(driver.memFree(addressOf(block)), "freeing memory of the GPU");
            }}) {
  DeviceNumber device = 0;
  driver.check(driver.deviceGet(&device, 0), "opening the first GPU");
  char words[128] = "";
  driver.check(driver.deviceGetName(words, sizeof words, device), "naming the GPU");
  name = words;
  driver.check(driver.deviceGetAttribute(&major, kComputeMajor, device),
               "querying the GPU's compute capability");
  driver.check(driver.deviceGetAttribute(&minor, kComputeMinor, device),
               "querying the GPU's compute capability");
  driver.check(driver.deviceGetAttribute(&processors, kMultiprocessorCount, device),
               "asking for the GPU's multiprocessors");
  Context context = nullptr;
  driver.check(driver.devicePrimaryCtxRetain(&context, device), "starting work on ", name);
  driver.check(driver.ctxSetCurrent(context), "starting work on ", name);
  module = loadImage(driver, images, major, minor);
  streams.emplace(driver);
  staging.emplace(driver, streams->main());
  graphs.emplace(driver, streams->main(), streams->greatestPriority());
  for (Event &event : marks)
    driver.check(driver.eventCreate(&event, kEventWithTime), "creating an event");
  for (; table->name; ++table)
    kernels.push_back({table->name});
}

Device::MemoryInfo CudaDevice::memoryInfo() {
  size_t free = 0, total = 0;
  driver.check(driver.memGetInfo(&free, &total), "asking for the GPU's memory");
  return {free + heap.unusedBytes(), total};
}

void *CudaDevice::allocateBlock(uint64_t size) {
  Address block = 0;
  Result result = driver.memAlloc(&block, size);
  if (result == kErrorOutOfMemory)
    return nullptr;
  checkWork(result, "allocating ", describeBytes(size));
  return reinterpret_cast<void *>(static_cast<uintptr_t>(block));
}

std::string CudaDevice::description() const { return text(name, " (sm_", major, minor, ")"); }

void CudaDevice::copyToDevice(void *to, const void *from, uint64_t bytes) {
  flush();
  staging->upload(addressOf(to), from, bytes);
}

/// Lazy, because most commands do not copy ahead.
void CudaDevice::openAhead() {
  if (aheadStream)
    return;
  aheadStream = streams->createStream(streams->leastPriority());
  aheadStaging.emplace(driver, aheadStream);
  for (Event *event : {&aheadCopied, &aheadTaken})
    driver.check(driver.eventCreate(event, kEventWithoutTime), "creating an event");
}

void CudaDevice::prefetchArray(void *to, const void *from, uint64_t bytes) {
  openAhead();
  driver.check(driver.streamWaitEvent(aheadStream, aheadTaken, 0), "ordering a copy to the GPU");
  aheadStaging->upload(addressOf(to), from, bytes);
  driver.check(driver.eventRecord(aheadCopied, aheadStream), "recording an event");
}

void CudaDevice::takePrefetched(void *to, const void *from, uint64_t bytes) {
  flush();
  checkWork(driver.streamWaitEvent(streams->main(), aheadCopied, 0),
            "waiting for a copy to the GPU");
  if (bytes > 0)
    checkWork(driver.memcpyDtoDAsync(addressOf(to), addressOf(from), bytes, streams->main()),
              "copying ", describeBytes(bytes), " on the GPU");
  checkWork(driver.eventRecord(aheadTaken, streams->main()), "recording an event");
}

void CudaDevice::beginPrefetch() {
  openAhead();
  flush();
  checkWork(driver.eventRecord(aheadTaken, streams->main()), "recording an event");
}

void CudaDevice::copyToHost(void *to, const void *from, uint64_t bytes) {
  flush();
  if (bytes > 0)
    staging->download(to, addressOf(from), bytes);
}

void CudaDevice::fill(void *to, uint8_t value, uint64_t bytes) {
  flush();
  if (bytes > 0)
    driver.check(driver.memsetD8Async(addressOf(to), value, bytes, streams->selected()), "filling ",
                 describeBytes(bytes), " of the GPU");
}

Function CudaDevice::functionOf(Kernel &kernel) {
  if (!kernel.function)
    driver.check(driver.moduleGetFunction(&kernel.function, module, kernel.name), "kernel ",
                 quote(kernel.name));
  return kernel.function;
}

void CudaDevice::launch(int64_t index, const LaunchSize &size, void **arguments, int64_t count) {
  Kernel &kernel = kernels.at(index);
  const std::array<int64_t, 3> &grid = size.grid, &block = size.block;
  // The driver would truncate to 32 bits.
  for (int64_t extent : {grid[0], grid[1], grid[2], block[0], block[1], block[2]})
    if (extent < 0 || extent > INT32_MAX)
      fail("kernel ", quote(kernel.name), ": a launch of ", extent,
           " blocks or threads is too large; use a smaller --batch or shorter sequences");
  if (size.cooperative)
    return startCooperatively(kernel, size, arguments);
  streams->add(KernelLaunch(functionOf(kernel), size, arguments, count));
  flushUnlessCollecting();
}

void CudaDevice::recordEvent(int64_t event) {
  streams->record(event);
  flushUnlessCollecting();
}

void CudaDevice::waitEvent(int64_t event) {
  streams->wait(event);
  flushUnlessCollecting();
  releaseUnused();
}

void CudaDevice::releaseMemory(void *memory) {
  releasedLater.emplace_back(memory, streams->givenToSub());
  releaseUnused();
}

void CudaDevice::releaseUnused() {
  for (; !releasedLater.empty() && releasedLater.front().second <= streams->joined();
       releasedLater.pop_front())
    heap.release(releasedLater.front().first);
}

/// Graphs with cooperative launches require a newer driver.
void CudaDevice::startCooperatively(Kernel &kernel, const LaunchSize &size, void **arguments) {
  flush();
  auto number = [](int64_t extent) { return static_cast<unsigned>(extent); };
  Result result = driver.launchCooperativeKernel(
      functionOf(kernel), number(size.grid[0]), number(size.grid[1]), number(size.grid[2]),
      number(size.block[0]), number(size.block[1]), number(size.block[2]), /*sharedBytes=*/0,
      streams->selected(), arguments);
  if (result == kErrorCooperativeLaunchTooLarge)
    fail("kernel ", quote(kernel.name), ": ", size.describe(),
         " have to run at the same time, and ", name, " with its ", processors,
         " multiprocessors cannot hold them; use a larger GPU, or --target=cpu");
  checkWork(result, "launching ", quote(kernel.name), " with ", size.describe());
  recent[launches++ % std::size(recent)] = kernel.name;
}

const char *CudaDevice::nameOf(const KernelLaunch &launch) const {
  auto isLaunched = [&](const Kernel &kernel) { return kernel.function == launch.function; };
  return std::find_if(kernels.begin(), kernels.end(), isLaunched)->name;
}

void CudaDevice::start(KernelLaunch &launch, Stream stream) {
  KernelParameters p = launch.parameters();
  checkWork(driver.launchKernel(p.function, p.gridX, p.gridY, p.gridZ, p.blockX, p.blockY, p.blockZ,
                                p.sharedBytes, stream, p.arguments, p.extra),
            "launching ", quote(nameOf(launch)), " with ", launch.size.describe());
}

void CudaDevice::flush() {
  if (streams->hasCollected())
    streams->flush(
        *graphs, [this](KernelLaunch &launch, Stream stream) { start(launch, stream); },
        [this](const KernelLaunch &launch) {
          recent[launches++ % std::size(recent)] = nameOf(launch);
        });
}

void CudaDevice::flushUnlessCollecting() {
  if (!collects)
    flush();
}

void CudaDevice::endCall() {
  collects = false;
  flush();
}

void CudaDevice::synchronize() {
  flush();
  checkWork(driver.streamSynchronize(streams->main()), "work on the GPU");
  staging->finish();
  streams->finish();
  launches = 0;
}

void CudaDevice::note(StepMark which) {
  flush();
  checkWork(driver.eventRecord(marks[static_cast<int>(which)], streams->main()), "noting the time");
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

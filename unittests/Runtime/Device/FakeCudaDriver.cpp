//===- FakeCudaDriver.cpp - A CUDA driver in host memory ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A library for BPPSA_CUDA_DRIVER. Like a GPU, it queues copies and launches and executes them only
// when the host waits, which exposes memory that changes too early. The host can access device
// memory only through the driver. An image is a text: its architecture, followed by kernels with
// their argument counts. A kernel is a function of the program with that name, called once per
// thread. The environment describes the GPU:
//   FAKE_CUDA_DEVICES=0        the number of devices (default: 1)
//   FAKE_CUDA_SM=86            the architecture (default: 90)
//   FAKE_CUDA_MEMORY=BYTES     the device memory (default: 256 MiB)
//   FAKE_CUDA_FAIL=cuInit:3    makes an entry point return this error
//   FAKE_CUDA_FAULT=KERNEL     a kernel that performs an illegal memory access
//   FAKE_CUDA_STREAMS=early    runs streams other than the first one as early as events allow
//                              (default: as late as possible)
//   FAKE_CUDA_REFUSE=sm_90     an image that fails to load
//   FAKE_CUDA_LOG=FILE         logs a line for each image, launch and copy, and for each graph that
//                              is created, updated or replayed
// Without FakeCudaGraphs.cpp, the driver has no entry points for graphs.
//
//===----------------------------------------------------------------------===//

#include "FakeGpu.h"
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <sys/mman.h>

using namespace fake;

extern "C" {
//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// One block per multiprocessor.
static constexpr unsigned residentBlocks = 4;

Result cuInit(unsigned) { return begin("cuInit"); }
Result cuDeviceGetCount(int *count) {
  *count = std::stoi(setting("FAKE_CUDA_DEVICES", "1"));
  return begin("cuDeviceGetCount");
}
Result cuDeviceGet(int *device, int) {
  *device = 0;
  return 0;
}
Result cuDeviceGetName(char *name, int length, int) {
  snprintf(name, length, "Fake GPU");
  return 0;
}
Result cuDeviceGetAttribute(int *value, int attribute, int) {
  int sm = std::stoi(setting("FAKE_CUDA_SM", "90"));
  *value = attribute == 16 ? residentBlocks : attribute == 75 ? sm / 10 : sm % 10;
  return 0;
}
Result cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &gpu();
  return begin("cuDevicePrimaryCtxRetain");
}
Result cuCtxSetCurrent(void *) { return 0; }

static const char *nameOf(Result result) {
  switch (result) {
  case invalidValue:
    return "CUDA_ERROR_INVALID_VALUE";
  case outOfMemory:
    return "CUDA_ERROR_OUT_OF_MEMORY";
  case invalidImage:
    return "CUDA_ERROR_INVALID_IMAGE";
  case notFound:
    return "CUDA_ERROR_NOT_FOUND";
  case illegalAddress:
    return "CUDA_ERROR_ILLEGAL_ADDRESS";
  default:
    return nullptr;
  }
}
Result cuGetErrorName(Result result, const char **name) {
  *name = nameOf(result);
  return *name ? 0 : invalidValue;
}
Result cuGetErrorString(Result result, const char **meaning) {
  *meaning = "in the driver's words";
  return nameOf(result) ? 0 : invalidValue;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  *total = gpu().total;
  *free = gpu().total - gpu().used;
  return 0;
}
Result cuMemAlloc_v2(Address *address, size_t bytes) {
  if (Result result = begin("cuMemAlloc"); result != 0)
    return result;
  if (bytes > gpu().total - gpu().used)
    return outOfMemory;
  void *block = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<Address>(block);
  gpu().blocks[*address] = bytes;
  gpu().used += bytes;
  return 0;
}
Result cuMemFree_v2(Address address) {
  gpu().runAll();
  size_t bytes = gpu().blocks.at(address);
  munmap(pointer(address), bytes);
  gpu().blocks.erase(address);
  gpu().used -= bytes;
  return 0;
}
Result cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = calloc(bytes, 1);
  return begin("cuMemHostAlloc");
}
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream *stream) {
  log((stream == &gpu().streams.front() ? "upload " : "ahead ") + std::to_string(bytes));
  return enqueue("cuMemcpyHtoDAsync", stream, {[=] { memcpy(pointer(to), from, bytes); }});
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *stream) {
  log("download " + std::to_string(bytes));
  return enqueue("cuMemcpyDtoHAsync", stream, {[=] { memcpy(to, pointer(from), bytes); }});
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream *stream) {
  return enqueue("cuMemcpyDtoDAsync", stream, {[=] { memcpy(pointer(to), pointer(from), bytes); }});
}
Result cuMemsetD8Async(Address to, unsigned char value, size_t count, Stream *stream) {
  return enqueue("cuMemsetD8Async", stream, {[=] { memset(pointer(to), value, count); }});
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Result cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *, void **values) {
  std::istringstream words(static_cast<const char *>(image));
  std::string arch;
  words >> arch;
  if (arch == setting("FAKE_CUDA_REFUSE")) {
    if (count == 2)
      snprintf(static_cast<char *>(values[0]), reinterpret_cast<size_t>(values[1]),
               "\nptxas fatal: no\nmore lines\n");
    return invalidImage;
  }
  std::map<std::string, Kernel> &kernels = gpu().kernels;
  Kernel kernel;
  while (words >> kernel.name >> kernel.arguments) {
    void *symbol = dlsym(RTLD_DEFAULT, kernel.name.c_str());
    kernel.body = reinterpret_cast<void (*)(void **, int64_t)>(symbol);
    kernels[kernel.name] = kernel;
  }
  log("load " + arch);
  *module = &kernels;
  return begin("cuModuleLoadDataEx");
}
Result cuModuleGetFunction(void **function, void *, const char *name) {
  auto found = gpu().kernels.find(name);
  if (found == gpu().kernels.end())
    return notFound;
  *function = &found->second;
  log(std::string("find ") + name);
  return begin("cuModuleGetFunction");
}
Result cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned, Stream *stream,
                      void **arguments, void **) {
  KernelParameters parameters = {
      static_cast<Kernel *>(function), gridX, gridY, gridZ, blockX, blockY, blockZ, 0, arguments};
  if (!canRun(parameters))
    return invalidValue;
  log((stream == &gpu().streams.front() ? "launch " : "beside ") + parameters.function->name);
  return enqueue("cuLaunchKernel", stream, {workOf(parameters)});
}

/// The launch itself is logged by cuLaunchKernel.
Result cuLaunchCooperativeKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, Stream *stream, void **arguments) {
  if (gridX * gridY * gridZ > residentBlocks)
    return cooperativeLaunchTooLarge;
  log("cooperate");
  return cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream,
                        arguments, nullptr);
}

//===----------------------------------------------------------------------===//
// Order and time
//===----------------------------------------------------------------------===//

Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return begin("cuCtxGetStreamPriorityRange");
}
/// The first stream must have the highest priority, all others the lowest.
Result cuStreamCreateWithPriority(Stream **stream, unsigned, int priority) {
  if (priority != (gpu().streams.empty() ? -5 : 0))
    return invalidValue;
  *stream = &gpu().streams.emplace_back();
  return begin("cuStreamCreateWithPriority");
}
Result cuStreamSynchronize(Stream *stream) {
  Result result = begin("cuStreamSynchronize");
  return result != 0 ? result : gpu().runUntil(*stream, [&] { return stream->empty(); });
}
Result cuStreamWaitEvent(Stream *stream, Event *event, unsigned) {
  return enqueue("cuStreamWaitEvent", stream, {nullptr, event, event->recorded});
}
Result cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return begin("cuEventCreate");
}
Result cuEventRecord(Event *event, Stream *stream) {
  int record = ++event->recorded;
  return enqueue("cuEventRecord", stream, {[=] {
                   event->time = std::chrono::duration<double, std::milli>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count();
                   event->reached = record;
                 }});
}
Result cuEventSynchronize(Event *event) {
  int record = event->recorded;
  return gpu().runUntil(gpu().streams.front(), [=] { return event->reached >= record; });
}
Result cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
  *milliseconds = static_cast<float>(to->time - from->time);
  return begin("cuEventElapsedTime");
}
}

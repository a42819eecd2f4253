//===- FakeCudaDriver.cpp - a CUDA driver on host memory ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A library that BPPSA_CUDA_DRIVER can name. Like a GPU it does nothing before somebody waits:
// copies and launches are queued, so that memory which changes too early shows. Memory of the
// device is not accessible for the host but through the driver. An image is a text: its
// architecture, then kernels with the number of their arguments; a kernel is a function of the
// program with that name, called once for each thread. The environment says what GPU it is:
//
//   FAKE_CUDA_DEVICES=0        how many there are (default: 1)
//   FAKE_CUDA_SM=86            its architecture (default: 90)
//   FAKE_CUDA_MEMORY=BYTES     its memory (default: 256 MiB)
//   FAKE_CUDA_FAIL=cuInit:3    what an entry point returns
//   FAKE_CUDA_FAULT=KERNEL     a kernel that accesses memory it must not
//   FAKE_CUDA_REFUSE=sm_90     an image that does not load
//   FAKE_CUDA_LOG=FILE         gets a line for each image, launch and copy
//
//===----------------------------------------------------------------------===//

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <vector>

using Result = int;
using Address = unsigned long long;

static constexpr Result invalidValue = 1, outOfMemory = 2, notFound = 500, illegalAddress = 700,
                        invalidImage = 200;

static std::string setting(const char *name, const char *fallback = "") {
  const char *value = getenv(name);
  return value ? value : fallback;
}

static void *pointer(Address address) { return reinterpret_cast<void *>(address); }

namespace {
struct Kernel {
  std::string name;
  void (*body)(void **, int64_t);
  size_t arguments;
};

struct Event {
  double time = 0;
  bool done = false;
};

struct Gpu {
  size_t total = std::stoull(setting("FAKE_CUDA_MEMORY", "268435456")), used = 0;
  std::map<Address, size_t> blocks;
  std::deque<std::function<void()>> queue;
  std::map<std::string, Kernel> kernels;
  /// Once a kernel fails, everything does.
  Result sticky = 0;

  void protect(int protection) {
    for (auto [address, size] : blocks)
      mprotect(pointer(address), size, protection);
  }

  Result runUntil(const std::function<bool()> &stop) {
    protect(PROT_READ | PROT_WRITE);
    while (!queue.empty() && !stop()) {
      if (sticky == 0)
        queue.front()();
      queue.pop_front();
    }
    protect(PROT_NONE);
    return sticky;
  }
  Result runAll() {
    return runUntil([] { return false; });
  }
};
} // namespace

static Gpu &gpu() {
  static Gpu instance;
  return instance;
}

static void log(const std::string &line) {
  std::string path = setting("FAKE_CUDA_LOG");
  if (path.empty())
    return;
  FILE *file = fopen(path.c_str(), "a");
  fprintf(file, "%s\n", line.c_str());
  fclose(file);
}

/// What FAKE_CUDA_FAIL says that `entry` returns, else what is wrong since a kernel failed.
static Result begin(const char *entry) {
  std::string fail = setting("FAKE_CUDA_FAIL"), prefix = std::string(entry) + ":";
  if (fail.compare(0, prefix.size(), prefix) == 0)
    return std::stoi(fail.substr(prefix.size()));
  return gpu().sticky;
}

/// Queues `work` for `entry`.
template <typename Work> static Result enqueue(const char *entry, Work &&work) {
  Result result = begin(entry);
  if (result == 0)
    gpu().queue.emplace_back(std::forward<Work>(work));
  return result;
}

extern "C" {
//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

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
  *value = attribute == 75 ? sm / 10 : sm % 10;
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
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *) {
  log("upload " + std::to_string(bytes));
  return enqueue("cuMemcpyHtoDAsync", [=] { memcpy(pointer(to), from, bytes); });
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *) {
  log("download " + std::to_string(bytes));
  return enqueue("cuMemcpyDtoHAsync", [=] { memcpy(to, pointer(from), bytes); });
}
Result cuMemsetD8Async(Address to, unsigned char value, size_t count, void *) {
  return enqueue("cuMemsetD8Async", [=] { memset(pointer(to), value, count); });
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
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned, void *,
                      void **arguments, void **) {
  Kernel kernel = *static_cast<Kernel *>(function);
  if (gridX == 0 || gridY == 0 || gridZ == 0 || blockX * blockY * blockZ > 1024)
    return invalidValue;
  log("launch " + kernel.name);
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel.arguments; ++i)
    values.push_back(*static_cast<uint64_t *>(arguments[i]));
  return enqueue("cuLaunchKernel", [=]() mutable {
    if (kernel.name == setting("FAKE_CUDA_FAULT")) {
      gpu().sticky = illegalAddress;
      return;
    }
    std::vector<void *> addresses;
    for (uint64_t &value : values)
      addresses.push_back(&value);
    for (int64_t thread = 0, end = int64_t(gridX) * blockX; thread < end; ++thread)
      kernel.body(addresses.data(), thread);
  });
}

//===----------------------------------------------------------------------===//
// Order and time
//===----------------------------------------------------------------------===//

Result cuStreamCreate(void **stream, unsigned) {
  *stream = &gpu();
  return begin("cuStreamCreate");
}
Result cuStreamSynchronize(void *) {
  Result result = begin("cuStreamSynchronize");
  return result != 0 ? result : gpu().runAll();
}
Result cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return begin("cuEventCreate");
}
Result cuEventRecord(Event *event, void *) {
  event->done = false;
  return enqueue("cuEventRecord", [=] {
    event->time = std::chrono::duration<double, std::milli>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count();
    event->done = true;
  });
}
Result cuEventSynchronize(Event *event) {
  return gpu().runUntil([=] { return event->done; });
}
Result cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
  *milliseconds = static_cast<float>(to->time - from->time);
  return begin("cuEventElapsedTime");
}
}

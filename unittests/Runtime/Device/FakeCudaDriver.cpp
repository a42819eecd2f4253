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
//   FAKE_CUDA_STREAMS=early    streams other than the first one run as early as events let them
//                              (default: as late as possible)
//   FAKE_CUDA_REFUSE=sm_90     an image that does not load
//   FAKE_CUDA_LOG=FILE         gets a line for each image, launch and copy, and for each graph that
//                              is made, updated or replayed
//
// FAKE_CUDA_WITHOUT_GRAPHS makes it a driver that has no entry points for graphs.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <vector>

using Result = int;
using Address = unsigned long long;

static constexpr Result invalidValue = 1, outOfMemory = 2, notFound = 500, illegalAddress = 700,
                        invalidImage = 200, cooperativeLaunchTooLarge = 720;

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
  /// How often it was recorded, and the last record that was reached.
  int recorded = 0, reached = 0;
};

struct Operation {
  std::function<void()> work;
  /// Where `event` is not null, waits until record `record` of it was reached.
  Event *event = nullptr;
  int record = 0;

  bool canRun() const { return !event || event->reached >= record; }
};
using Stream = std::deque<Operation>;

struct Gpu {
  size_t total = std::stoull(setting("FAKE_CUDA_MEMORY", "268435456")), used = 0;
  std::map<Address, size_t> blocks;
  /// What the first one has is done when somebody waits.
  std::list<Stream> streams;
  std::map<std::string, Kernel> kernels;
  /// Once a kernel fails, everything does.
  Result sticky = 0;

  void protect(int protection) {
    for (auto [address, size] : blocks)
      mprotect(pointer(address), size, protection);
  }

  /// Does the next work of `stream`, if it need not wait.
  bool step(Stream &stream) {
    if (stream.empty() || !stream.front().canRun())
      return false;
    Operation next = std::move(stream.front());
    stream.pop_front();
    if (sticky == 0 && next.work)
      next.work();
    return true;
  }
  bool stepOthers(const Stream &stream) {
    for (Stream &other : streams)
      if (&other != &stream && step(other))
        return true;
    return false;
  }
  /// Lets streams run until `stop`: others than `stream` as late as possible, or as early.
  Result runUntil(Stream &stream, const std::function<bool()> &stop) {
    protect(PROT_READ | PROT_WRITE);
    bool early = setting("FAKE_CUDA_STREAMS") == "early";
    while (!stop()) {
      while (early && stepOthers(stream))
        continue;
      if (!step(stream) && !stepOthers(stream))
        break;
    }
    protect(PROT_NONE);
    return sticky;
  }
  Result runAll() {
    for (Stream &stream : streams)
      runUntil(stream, [&] { return stream.empty(); });
    return sticky;
  }
  /// Streams other than the first one begin at once where they are early.
  void begin() {
    if (setting("FAKE_CUDA_STREAMS") != "early")
      return;
    protect(PROT_READ | PROT_WRITE);
    while (stepOthers(streams.front()))
      continue;
    protect(PROT_NONE);
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

/// Queues `operation` for `entry`.
static Result enqueue(const char *entry, Stream *stream, Operation operation) {
  Result result = begin(entry);
  if (result == 0) {
    stream->push_back(std::move(operation));
    gpu().begin();
  }
  return result;
}

namespace {
/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelParameters {
  Kernel *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra = nullptr;
};

#ifndef FAKE_CUDA_WITHOUT_GRAPHS
struct FakeNode {
  std::string kernel;
  std::function<void()> work;
  std::vector<FakeNode *> before;
};

struct FakeGraph {
  /// Nodes stay where they are.
  std::list<FakeNode> nodes;
};

struct FakeExec {
  std::vector<std::pair<FakeNode *, std::function<void()>>> nodes;

  std::string names() const {
    std::string line;
    for (const auto &entry : nodes)
      line += " " + entry.first->kernel;
    return line;
  }
  /// Runs the nodes as late as those that wait for them allow, the last ones first.
  std::function<void()> work() const {
    return [nodes = nodes] {
      std::set<FakeNode *> done;
      while (done.size() < nodes.size())
        for (auto entry = nodes.rbegin(); entry != nodes.rend(); ++entry) {
          const std::vector<FakeNode *> &before = entry->first->before;
          bool ready = std::all_of(before.begin(), before.end(),
                                   [&](FakeNode *node) { return done.count(node) != 0; });
          if (ready && done.insert(entry->first).second)
            entry->second();
        }
    };
  }
};
#endif
} // namespace

static bool canRun(const KernelParameters &p) {
  return p.gridX > 0 && p.gridY > 0 && p.gridZ > 0 && p.blockX * p.blockY * p.blockZ <= 1024;
}

/// What a launch does when it runs, with the arguments of now.
static std::function<void()> workOf(const KernelParameters &parameters) {
  Kernel kernel = *parameters.function;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel.arguments; ++i)
    values.push_back(*static_cast<uint64_t *>(parameters.arguments[i]));
  int64_t threads = int64_t(parameters.gridX) * parameters.blockX;
  return [=]() mutable {
    if (kernel.name == setting("FAKE_CUDA_FAULT"))
      gpu().sticky = illegalAddress;
    if (gpu().sticky != 0)
      return;
    std::vector<void *> addresses;
    for (uint64_t &value : values)
      addresses.push_back(&value);
    for (int64_t thread = 0; thread < threads; ++thread)
      kernel.body(addresses.data(), thread);
  };
}

extern "C" {
//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// One on each multiprocessor.
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
  log("launch " + parameters.function->name);
  return enqueue("cuLaunchKernel", stream, {workOf(parameters)});
}

/// The launch that the log has is that of cuLaunchKernel.
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
// Graphs
//===----------------------------------------------------------------------===//

#ifndef FAKE_CUDA_WITHOUT_GRAPHS
Result cuGraphCreate(FakeGraph **graph, unsigned) {
  *graph = new FakeGraph;
  return begin("cuGraphCreate");
}
Result cuGraphAddKernelNode(FakeNode **node, FakeGraph *graph, FakeNode *const *before,
                            size_t count, const KernelParameters *parameters) {
  if (!canRun(*parameters))
    return invalidValue;
  graph->nodes.push_back(
      {parameters->function->name, workOf(*parameters), {before, before + count}});
  *node = &graph->nodes.back();
  return begin("cuGraphAddKernelNode");
}
Result cuGraphInstantiateWithFlags(FakeExec **exec, FakeGraph *graph, unsigned long long) {
  *exec = new FakeExec;
  for (FakeNode &node : graph->nodes)
    (*exec)->nodes.emplace_back(&node, node.work);
  log("graph of " + std::to_string(graph->nodes.size()));
  return begin("cuGraphInstantiateWithFlags");
}
Result cuGraphExecKernelNodeSetParams(FakeExec *exec, FakeNode *node,
                                      const KernelParameters *parameters) {
  if (!canRun(*parameters) || parameters->function->name != node->kernel)
    return invalidValue;
  log("update " + node->kernel);
  for (auto &[original, work] : exec->nodes)
    if (original == node)
      work = workOf(*parameters);
  return begin("cuGraphExecKernelNodeSetParams");
}
Result cuGraphExecDestroy(FakeExec *exec) {
  delete exec;
  return begin("cuGraphExecDestroy");
}
Result cuGraphDestroy(FakeGraph *graph) {
  delete graph;
  return begin("cuGraphDestroy");
}
Result cuGraphLaunch(FakeExec *exec, Stream *stream) {
  log("replay" + exec->names());
  return enqueue("cuGraphLaunch", stream, {exec->work()});
}
#endif

//===----------------------------------------------------------------------===//
// Order and time
//===----------------------------------------------------------------------===//

Result cuStreamCreate(Stream **stream, unsigned) {
  *stream = &gpu().streams.emplace_back();
  return begin("cuStreamCreate");
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

//===- FakeGpu.h - a GPU on host memory -------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_RUNTIME_DEVICE_FAKEGPU_H
#define BPPSA_UNITTESTS_RUNTIME_DEVICE_FAKEGPU_H

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>

/// What the entry points of FakeCudaDriver.cpp and FakeCudaGraphs.cpp share.
namespace fake {

using Result = int;
using Address = unsigned long long;

inline constexpr Result invalidValue = 1, outOfMemory = 2, notFound = 500, illegalAddress = 700,
                        invalidImage = 200, cooperativeLaunchTooLarge = 720;

/// A setting of the environment; FakeCudaDriver.cpp lists them.
std::string setting(const char *name, const char *fallback = "");

inline void *pointer(Address address) { return reinterpret_cast<void *>(address); }

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

  /// Lets streams run until `stop`: others than `stream` as late as possible, or as early.
  Result runUntil(Stream &stream, const std::function<bool()> &stop);
  Result runAll();
  /// Streams other than the first one begin at once where they are early.
  void begin();

private:
  void protect(int protection);
  /// Does the next work of `stream`, if it need not wait.
  bool step(Stream &stream);
  bool stepOthers(const Stream &stream);
};

Gpu &gpu();
/// Writes a line to FAKE_CUDA_LOG.
void log(const std::string &line);
/// What FAKE_CUDA_FAIL says that `entry` returns, else what is wrong since a kernel failed.
Result begin(const char *entry);
/// Queues `operation` for `entry`.
Result enqueue(const char *entry, Stream *stream, Operation operation);

/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelParameters {
  Kernel *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra = nullptr;
};

bool canRun(const KernelParameters &parameters);
/// What a launch does when it runs, with the arguments of now.
std::function<void()> workOf(const KernelParameters &parameters);

} // namespace fake

#endif // BPPSA_UNITTESTS_RUNTIME_DEVICE_FAKEGPU_H

//===- FakeGpu.h - A GPU in host memory -------------------------*- C++ -*-===//
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

/// Shared by the entry points of FakeCudaDriver.cpp and FakeCudaGraphs.cpp.
namespace fake {

using Result = int;
using Address = unsigned long long;

inline constexpr Result invalidValue = 1, outOfMemory = 2, notFound = 500, illegalAddress = 700,
                        invalidImage = 200, cooperativeLaunchTooLarge = 720;

/// Returns a setting of the environment, see FakeCudaDriver.cpp.
std::string setting(const char *name, const char *fallback = "");

inline void *pointer(Address address) { return reinterpret_cast<void *>(address); }

struct Kernel {
  std::string name;
  void (*body)(void **, int64_t);
  size_t arguments;
};

struct Event {
  double time = 0;
  /// The number of times it was recorded, and the last recording that was reached.
  int recorded = 0, reached = 0;
};

struct Operation {
  std::function<void()> work;
  /// If not null, the operation waits until recording `record` of the event is reached.
  Event *event = nullptr;
  int record = 0;

  bool canRun() const { return !event || event->reached >= record; }
};
using Stream = std::deque<Operation>;

struct Gpu {
  size_t total = std::stoull(setting("FAKE_CUDA_MEMORY", "268435456")), used = 0;
  std::map<Address, size_t> blocks;
  /// The first stream runs only when the host waits.
  std::list<Stream> streams;
  std::map<std::string, Kernel> kernels;
  /// The error of a failed kernel, returned by all later calls.
  Result sticky = 0;

  /// Runs streams until `stop` returns true. Streams other than `stream` run as early or as late as
  /// possible.
  Result runUntil(Stream &stream, const std::function<bool()> &stop);
  Result runAll();
  /// If streams run early, starts work on all streams but the first.
  void begin();

private:
  void protect(int protection);
  /// Executes the next operation of `stream` unless it must wait. Returns whether it did.
  bool step(Stream &stream);
  bool stepOthers(const Stream &stream);
};

Gpu &gpu();
/// Appends a line to FAKE_CUDA_LOG.
void log(const std::string &line);
/// Returns the error that FAKE_CUDA_FAIL sets for `entry`, or the error of a failed kernel.
Result begin(const char *entry);
/// Queues `operation` on behalf of `entry`.
Result enqueue(const char *entry, Stream *stream, Operation operation);

/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelParameters {
  Kernel *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra = nullptr;
};

bool canRun(const KernelParameters &parameters);
/// Returns the work of a launch, with copies of the current arguments.
std::function<void()> workOf(const KernelParameters &parameters);

} // namespace fake

#endif // BPPSA_UNITTESTS_RUNTIME_DEVICE_FAKEGPU_H

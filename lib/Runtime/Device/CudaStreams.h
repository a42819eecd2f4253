//===- CudaStreams.h - CUDA streams of kernels ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DEVICE_CUDASTREAMS_H
#define BPPSA_LIB_RUNTIME_DEVICE_CUDASTREAMS_H

#include "CudaDriver.h"
#include "CudaGraphs.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace bppsa::runtime::cuda {

/// Collects launches and events of the main stream and a low-priority sub stream, and starts them
/// one by one or as a graph on the main stream. In a graph, each launch depends on its predecessor
/// in its stream and on awaited events.
class Streams {
public:
  explicit Streams(const Driver &driver);
  Streams(const Streams &) = delete;

  Stream main() const { return streams[0]; }
  Stream selected();

  void select(int64_t stream);
  void add(KernelLaunch launch);
  void record(int64_t event);
  void wait(int64_t event);
  bool hasCollected() const { return !items.empty(); }

  /// Starts the collected launches as a graph, or with `start` if that fails. Calls `note` for
  /// each.
  void flush(Graphs &graphs, const std::function<void(KernelLaunch &, Stream)> &start,
             const std::function<void(const KernelLaunch &)> &note);

  Stream createStream(int priority) const;
  int leastPriority() const { return least; }
  int greatestPriority() const { return greatest; }

  /// All work on the main stream must have completed.
  void finish() { mustSubWait = false; }

  /// joined() counts the launches on the sub stream that the main stream has waited for. Later ones
  /// may still use their memory.
  uint64_t givenToSub() const { return given; }
  uint64_t joined() const { return joinedLaunches; }

private:
  struct Item {
    enum class Kind { Launch, Record, Wait } kind;
    int64_t stream;
    size_t launch = 0;
    int64_t event = 0;
  };
  /// For the sub stream, `given` counts the launches before the event.
  struct Recorded {
    Event event = nullptr;
    uint64_t given = 0;
    std::optional<size_t> last;
  };

  Event &eventOf(int64_t number);
  void startItem(const Item &item, std::vector<KernelLaunch> &launches,
                 const std::function<void(KernelLaunch &, Stream)> &start);
  void forgetCollected();
  void makeWait(Stream waiting, Stream other);
  Stream ready(int64_t stream);

  const Driver &driver;
  int least = 0, greatest = 0;
  Stream streams[2] = {};
  int64_t current = 0;
  std::map<int64_t, Recorded> events;
  Event fence = nullptr;

  std::vector<Item> items;
  std::vector<KernelLaunch> launches;
  /// For each stream, the last collected launch and the launches that the next one waits for.
  std::optional<size_t> last[2];
  std::vector<size_t> waits[2];

  uint64_t given = 0, joinedLaunches = 0;
  /// `subRuns`: the main stream has not waited for all sub stream launches. `mustSubWait`: the sub
  /// stream has not waited for a graph on the main stream.
  bool subRuns = false, mustSubWait = false;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDASTREAMS_H

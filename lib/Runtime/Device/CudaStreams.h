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

/// The main stream, which has the highest priority, and the sub stream, which has the lowest and is
/// created at first use. Collects launches and events and starts them in order: either one by one,
/// or as a graph on the main stream. In a graph, each launch depends on the previous launch of its
/// stream and on the events that its stream waits for.
class Streams {
public:
  explicit Streams(const Driver &driver);
  Streams(const Streams &) = delete;

  Stream main() const { return streams[0]; }
  /// The selected stream, ready for work after the collected launches.
  Stream selected();

  void select(int64_t stream);
  void add(KernelLaunch launch);
  void record(int64_t event);
  void wait(int64_t event);
  bool hasCollected() const { return !items.empty(); }

  /// Starts the collected launches, as one of `graphs` if possible, otherwise by calling `start`
  /// for each. Calls `note` for each launch in order.
  void flush(Graphs &graphs, const std::function<void(KernelLaunch &, Stream)> &start,
             const std::function<void(const KernelLaunch &)> &note);

  Stream createStream(int priority) const;
  int leastPriority() const { return least; }
  int greatestPriority() const { return greatest; }

  /// Must be called after all work on the main stream has completed.
  void finish() { mustSubWait = false; }

  /// The number of launches on the sub stream, and how many of them the main stream has waited for.
  /// Memory used by the others is still in use.
  uint64_t givenToSub() const { return given; }
  uint64_t joined() const { return joinedLaunches; }

private:
  /// A launch, by its index in `launches`, or an event that `stream` records or waits for.
  struct Item {
    enum class Kind { Launch, Record, Wait } kind;
    int64_t stream;
    size_t launch = 0;
    int64_t event = 0;
  };
  /// A driver event and, if it was recorded on the sub stream, the number of launches on that
  /// stream before it.
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
  /// Makes one stream wait for all work of the other.
  Event fence = nullptr;

  std::vector<Item> items;
  std::vector<KernelLaunch> launches;
  /// For each stream, the last collected launch, and the launches that the next one waits for.
  std::optional<size_t> last[2];
  std::vector<size_t> waits[2];

  uint64_t given = 0, joinedLaunches = 0;
  /// The sub stream may run launches that the main stream has not waited for. The main stream runs
  /// a graph that the sub stream has not waited for.
  bool subRuns = false, mustSubWait = false;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDASTREAMS_H

//===- CudaStreams.h - the streams that kernels run on ----------*- C++ -*-===//
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

/// The main stream, which has the highest priority, and the sub stream, which has the lowest one
/// and is made at first use. Launches and events are collected in the order in which they are
/// given, and started in it: launch by launch, or as a graph on the main stream in which each
/// launch waits for the one before it on its stream and for what its stream waits for.
class Streams {
public:
  explicit Streams(const Driver &driver);
  Streams(const Streams &) = delete;

  Stream main() const { return streams[0]; }
  /// The one that is given work now, ready for it once everything collected was started.
  Stream selected();

  void select(int64_t stream);
  void add(KernelLaunch launch);
  void record(int64_t event);
  void wait(int64_t event);
  bool hasCollected() const { return !items.empty(); }

  /// Starts what was collected, as one of `graphs` where there is one. `note` is told each launch,
  /// in order; `start` starts one on a stream.
  void flush(Graphs &graphs, const std::function<void(KernelLaunch &, Stream)> &start,
             const std::function<void(const KernelLaunch &)> &note);

  /// Lets another stream, of copies, be made as unimportant as the sub stream.
  Stream createStream(int priority) const;
  int leastPriority() const { return least; }
  int greatestPriority() const { return greatest; }

  /// To be called when everything on the main stream is done.
  void finish() { isSubBehind = false; }

  /// How many launches the sub stream was given, and for how many of them the main stream waits
  /// before what it is given next: memory that the others may use is not free yet.
  uint64_t givenToSub() const { return given; }
  uint64_t joined() const { return joinedLaunches; }

private:
  /// A launch, by its number in `launches`, or an event that `stream` records or waits for.
  struct Item {
    enum class Kind { Launch, Record, Wait } kind;
    int64_t stream;
    size_t launch = 0;
    int64_t event = 0;
  };
  /// An event of the driver, and the launches that the sub stream was given before it where it is
  /// that stream's.
  struct Recorded {
    Event event = nullptr;
    uint64_t given = 0;
    /// The launch before it among those that are collected; none where it has none.
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
  /// What lets one stream wait for all of the other one.
  Event fence = nullptr;

  std::vector<Item> items;
  std::vector<KernelLaunch> launches;
  /// By stream: the last launch that is collected, and those that the next one waits for.
  std::optional<size_t> last[2];
  std::vector<size_t> waits[2];

  uint64_t given = 0, joinedLaunches = 0;
  /// Whether launches run on the sub stream for which the main stream may not have waited, and
  /// whether a graph on the main stream has some that the sub stream has not waited for.
  bool subRuns = false, isSubBehind = false;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDASTREAMS_H

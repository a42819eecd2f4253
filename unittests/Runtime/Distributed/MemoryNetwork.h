//===- MemoryNetwork.h - Ranks as threads of a process --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_MEMORYNETWORK_H
#define BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_MEMORYNETWORK_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Distributed/ShardScan.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace memory {

/// Messages between the ranks of a test. Bytes are copied only after both sides have started, so
/// modifying memory too early yields wrong results.
class Network {
public:
  explicit Network(int count) : count(count), ended(count) {}

  struct Half {
    char *data;
    uint64_t bytes;
    std::function<void()> done;
  };
  /// From, to, tag.
  using Path = std::tuple<int, int, int>;

  void meet(const Path &path, Half half, bool isSender) {
    std::lock_guard lock(mutex);
    std::deque<Half> &others = (isSender ? receivers : senders)[path];
    if (others.empty())
      return (isSender ? senders : receivers)[path].push_back(std::move(half));
    Half other = std::move(others.front());
    others.pop_front();
    const Half &from = isSender ? half : other, &to = isSender ? other : half;
    memcpy(to.data, from.data, from.bytes);
    ended[std::get<0>(path)].push_back(from.done);
    ended[std::get<1>(path)].push_back(to.done);
  }

  void cancel(const Path &path) {
    std::lock_guard lock(mutex);
    receivers.at(path).pop_back();
  }

  /// The arguments of one rank's scan.
  struct Part {
    const float *own;
    float *before;
    int64_t samples, size;
    std::function<void()> done;
  };

  /// Waits for all ranks.
  void prepareScans(int ranks) {
    std::unique_lock lock(mutex);
    members = ranks;
    ++prepared;
    allPrepared.notify_all();
    allPrepared.wait(lock, [this] { return prepared == count; });
  }
  /// Starts the next scan of `rank` in this direction, which runs when all members have started it.
  void scan(int rank, bool fromFirst, Part part) {
    std::lock_guard lock(mutex);
    int64_t number = begun[{rank, fromFirst}]++;
    std::map<int, Part> &parts = scans[{fromFirst, number}];
    parts[rank] = std::move(part);
    if (static_cast<int>(parts.size()) < members)
      return;
    std::vector<float> all;
    for (int i = 0; i < members; ++i) {
      int next = fromFirst ? i : members - 1 - i;
      Part &reached = parts.at(next);
      std::vector<float> own(
          reached.own, reached.own + reached.samples * bppsa::runtime::floatsOfMap(reached.size));
      if (i > 0) {
        std::copy(all.begin(), all.end(), reached.before);
        bppsa::runtime::composeMaps(all.data(), own.data(), reached.samples, reached.size);
      }
      all = std::move(own);
      ended[next].push_back(reached.done);
    }
  }

  std::vector<std::function<void()>> takeEnded(int rank) {
    std::lock_guard lock(mutex);
    return std::exchange(ended[rank], {});
  }

  const int count;

private:
  std::mutex mutex;
  std::map<Path, std::deque<Half>> senders, receivers;
  int members = 0, prepared = 0;
  std::condition_variable allPrepared;
  /// The number of scans that each rank has started per direction, and the arguments of each scan.
  std::map<std::pair<int, bool>, int64_t> begun;
  std::map<std::pair<bool, int64_t>, std::map<int, Part>> scans;
  std::vector<std::vector<std::function<void()>>> ended;
};

class Transport : public bppsa::runtime::Transport {
public:
  Transport(Network &network, int own) : network(network), own(own) {}

  int rank() const override { return own; }
  int count() const override { return network.count; }
  void send(int to, int tag, const void *data, uint64_t bytes,
            std::function<void()> done) override {
    network.meet({own, to, tag},
                 {static_cast<char *>(const_cast<void *>(data)), bytes, std::move(done)}, true);
  }
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> done) override {
    network.meet({from, own, tag}, {static_cast<char *>(data), bytes, std::move(done)}, false);
  }
  void cancel(int from, int tag) override { network.cancel({from, own, tag}); }
  void prepareScans(int members) override { network.prepareScans(members); }
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done) override {
    network.scan(this->own, fromFirst, {own, before, samples, size, std::move(done)});
  }
  bool poll() override {
    std::vector<std::function<void()>> done = network.takeEnded(own);
    for (const std::function<void()> &function : done)
      function();
    return !done.empty();
  }
  [[noreturn]] void abort(int status) override { _exit(status); }

private:
  Network &network;
  const int own;
};

/// Runs `body` on `count` ranks concurrently.
inline void onRanks(int count, bppsa::runtime::Throttle throttle,
                    const std::function<void(bppsa::runtime::Ranks &)> &body,
                    double stallTimeout = 0) {
  Network network(count);
  std::vector<std::unique_ptr<bppsa::runtime::Ranks>> ranks;
  for (int rank = 0; rank < count; ++rank)
    ranks.push_back(std::make_unique<bppsa::runtime::Ranks>(
        [&network, rank] { return new Transport(network, rank); }, throttle, stallTimeout,
        /*isTraced=*/true));
  std::vector<std::thread> threads;
  for (std::unique_ptr<bppsa::runtime::Ranks> &own : ranks)
    threads.emplace_back([&own, &body] {
      body(*own);
      // The destructor of a rank waits for the other ranks.
      own.reset();
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace memory

#endif // BPPSA_UNITTESTS_RUNTIME_DISTRIBUTED_MEMORYNETWORK_H

//===- Ranks.h - Processes that work together -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_RANKS_H
#define BPPSA_RUNTIME_DISTRIBUTED_RANKS_H

#include "bppsa/Runtime/Distributed/MessageLoop.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bppsa::runtime {

/// The ranks of a run, of which this process is one. Alone it is rank 0 of 1 and needs no MPI.
/// Ranks call what all of them take part in in the same order.
class Ranks {
public:
  /// This process alone.
  explicit Ranks(bool isTraced) : events(isTraced) {}
  /// All that `open` connects; errors of this process end the run from here on.
  Ranks(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
        bool isTraced);
  ~Ranks();
  Ranks(const Ranks &) = delete;

  int rank() const { return messages ? messages->rank() : 0; }
  int count() const { return messages ? messages->count() : 1; }
  bool isAlone() const { return count() == 1; }
  bool isFirst() const { return rank() == 0; }

  /// What every rank gives, in the order of the ranks; traces call it `what`.
  std::vector<std::string> gather(const std::string &own, const char *what = "numbers");
  std::vector<std::vector<double>> gather(const std::vector<double> &own,
                                          const char *what = "numbers");
  /// The sums over all ranks, added up in the order of the ranks.
  std::vector<double> sum(const std::vector<double> &own, const char *what = "numbers");
  /// The first half of gather() sends what this rank gives, the second one waits for the others.
  struct Gathering;
  std::shared_ptr<Gathering> startGather(const std::vector<double> &own,
                                         const char *what = "numbers");
  std::vector<std::vector<double>> finishGather(Gathering &gathering);
  /// How long after its start all was there; nothing where finishGather() would wait now.
  std::optional<double> secondsOf(const Gathering &gathering);
  /// What rank 0 gives.
  std::string broadcast(const std::string &own) { return gather(isFirst() ? own : "").front(); }

  /// Sends `bytes` to rank `to`, which receives as many; of several messages of a channel, of which
  /// there are 1024, the first one first.
  void send(int to, std::string bytes, const char *what, int64_t channel = 0);
  void receive(int from, void *data, uint64_t bytes, const char *what, int64_t channel = 0);

  /// Prepares scan() for the first `members` ranks; called by all.
  void prepareScans(int members);
  /// What the maps of the ranks before this one make of zeros, `size` values of each of `samples`
  /// samples: an exclusive scan of `own` (`composeMaps`) from the last member to the first, or
  /// `fromFirst` to the last. Zeros on the one that comes first.
  void scan(bool fromFirst, const std::vector<float> &own, float *offsets, int64_t samples,
            int64_t size, const char *what);

  /// Only where there are several.
  MessageLoop &loop() { return *messages; }
  Trace &trace() { return events; }
  /// What rank 0 says behind the error of another rank: what is left of the run.
  void setRemedy(const std::string &text) {
    if (messages)
      messages->setRemedy(text);
  }
  /// Where training is, for the message about a wait without progress.
  void setPosition(const std::string &text) {
    if (messages)
      messages->setPosition(text);
  }

private:
  std::shared_ptr<Gathering> start(const std::string &own, const char *what);
  std::vector<std::string> finish(Gathering &gathering);
  void receive(const std::shared_ptr<Gathering> &gathering, int other);
  void send(const std::shared_ptr<Gathering> &gathering, int other);

  Trace events;
  std::unique_ptr<MessageLoop> messages;
};

/// The samples [begin, end) of a batch that a rank computes.
struct Share {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// The share of `rank` of `count` in `size` samples: shares differ by at most one sample, and that
/// of rank 0 is the largest.
Share shareOf(int64_t size, int rank, int count);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_RANKS_H

//===- Ranks.h - The processes of a distributed run -----------------------===//
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

/// The ranks of a distributed run. A single process needs no MPI. All ranks must call collective
/// functions in the same order.
class Ranks {
public:
  explicit Ranks(bool isTraced) : events(isTraced) {}
  /// From here on, errors of this process end the run.
  Ranks(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
        bool isTraced);
  ~Ranks();
  Ranks(const Ranks &) = delete;

  int rank() const { return messages ? messages->rank() : 0; }
  int count() const { return messages ? messages->count() : 1; }
  bool isAlone() const { return count() == 1; }
  bool isFirst() const { return rank() == 0; }

  /// Gathers values in rank order. `what` labels the messages in traces.
  std::vector<std::string> gather(const std::string &own, const char *what = "numbers");
  std::vector<std::vector<double>> gather(const std::vector<double> &own,
                                          const char *what = "numbers");
  std::vector<double> sum(const std::vector<double> &own, const char *what = "numbers");
  /// The two halves of gather(): sending, and waiting for the others.
  struct Gathering;
  std::shared_ptr<Gathering> startGather(const std::vector<double> &own,
                                         const char *what = "numbers");
  std::vector<std::vector<double>> finishGather(Gathering &gathering);
  /// Returns the seconds until the last message completed, or nothing if finishGather() would
  /// block.
  std::optional<double> secondsOf(const Gathering &gathering);
  std::string broadcast(const std::string &own) { return gather(isFirst() ? own : "").front(); }

  /// Rank `to` must receive the same size. Messages on one of the 1024 channels arrive in order.
  void send(int to, std::string bytes, const char *what, int64_t channel = 0);
  void receive(int from, void *data, uint64_t bytes, const char *what, int64_t channel = 0);

  void prepareScans(int members);
  /// Computes the exclusive scan of the affine maps `own`, from the last member or, if `fromFirst`,
  /// the first. Writes its values at zero to `offsets`, of shape [samples, size].
  void scan(bool fromFirst, const std::vector<float> &own, float *offsets, int64_t samples,
            int64_t size, const char *what);

  MessageLoop &loop() { return *messages; }
  Trace &trace() { return events; }
  void setErrorHint(const std::string &text) {
    if (messages)
      messages->setErrorHint(text);
  }
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

struct Share {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Shares differ by at most one sample; rank 0 has the largest.
Share shareOf(int64_t size, int rank, int count);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_RANKS_H

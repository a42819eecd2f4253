//===- TimeShard.h - Time shards of ranks ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_TIMESHARD_H
#define BPPSA_LIB_RUNTIME_UPDATES_TIMESHARD_H

#include "Distributed/StepPorts.h"
#include "Training/Segments.h"
#include "bppsa/Runtime/Distributed/Ranks.h"

namespace bppsa::runtime {

/// The time shard of a stream, whose carried states are arguments and results of steps. Passes
/// states to the next rank and cotangents to the previous one.
class TimeShard {
public:
  /// The first `shares` ranks have time steps.
  TimeShard(Session &session, Segments &segments, Ranks &ranks, int64_t shares)
      : session(session), segments(segments), ranks(ranks), shares(shares) {}

  /// Receives initial states, runs the forward pass and sends final states. Returns the shard's
  /// weight in each loss.
  std::vector<double> runForward(const Batch &batch);
  void receiveCotangents(const std::string &function);
  void runBackward() { backwards.at(share).call(); }
  void sendCotangents();

private:
  struct Backward {
    StateArrays finals, firsts;
    std::string function;
    Call call;
  };

  bool hasNext() const { return ranks.rank() + 1 < shares; }
  Backward &prepare(const std::string &function);

  Session &session;
  Segments &segments;
  Ranks &ranks;
  int64_t shares;
  Batch *share = nullptr;
  std::map<const Batch *, Backward> backwards;
};

/// Transfers states inside steps of models that are not streams.
class ShardMessages : public ShardPort {
public:
  ShardMessages(Ranks &ranks, int64_t shares, StepWindow window)
      : ranks(ranks), shares(shares), window(window) {}

  int64_t firstStep() const noexcept override { return window.first; }
  int64_t allSteps() const noexcept override { return window.all; }
  void enter(const ShardState &state) noexcept override;
  void leave(const ShardState &state) noexcept override;
  void sendCotangent(const ShardState &state) noexcept override;
  void receiveCotangent(const ShardState &state) noexcept override;
  void scan(const ShardMap &map) noexcept override;

private:
  std::optional<int> neighbor(int distance) const;
  void send(int to, const ShardState &state, const char *what) noexcept;
  void receive(int from, const ShardState &state, const char *what) noexcept;

  Ranks &ranks;
  int64_t shares;
  StepWindow window;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_TIMESHARD_H

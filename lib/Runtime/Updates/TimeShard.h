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

/// This rank's time shard of streams, whose carried states are arguments and results of steps.
/// States are received from the previous rank and sent to the next; their cotangents flow in the
/// opposite direction.
class TimeShard {
public:
  /// The first `shares` ranks have time steps.
  TimeShard(Session &session, Segments &segments, Ranks &ranks, int64_t shares)
      : session(session), segments(segments), ranks(ranks), shares(shares) {}

  /// Receives the initial states of this rank's shard of `batch`, computes its forward pass, and
  /// sends the final states to the next rank. Returns the weight of each loss in the shard.
  std::vector<double> runForward(const Batch &batch);
  /// Receives the cotangents of the final states, for `function`.
  void receiveCotangents(const std::string &function);
  /// Computes the loss of the shard and its part of the gradients.
  void runBackward() { backwards.at(share).call(); }
  /// Sends the cotangents of the initial states to the previous rank.
  void sendCotangents();

private:
  /// The backward pass for a batch size.
  struct Backward {
    /// The cotangents of the final and the initial states.
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
  /// Of the last batch.
  Batch *share = nullptr;
  std::map<const Batch *, Backward> backwards;
};

/// Transfers states inside the steps of models that are not streams, called by compiled code.
class ShardMessages : public ShardPort {
public:
  /// The first `shares` ranks have time steps; `window` are the steps of this rank.
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

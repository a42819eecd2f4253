//===- TimeShard.h - A rank's share of the steps of sequences --------------------===//
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

/// What a rank computes of streams, whose states are arguments and results of steps: the steps of
/// its share of every sequence, which are those of the data set. States come from the rank before
/// it and go on to the one behind it; how the losses depend on them comes the other way.
class TimeShard {
public:
  /// The first `shares` ranks have steps.
  TimeShard(Session &session, Segments &segments, Ranks &ranks, int64_t shares)
      : session(session), segments(segments), ranks(ranks), shares(shares) {}

  /// Waits for the states before this rank's share of the sequences in `batch`, and sends those
  /// behind it on. Returns what each loss of the share counts.
  std::vector<double> runForward(const Batch &batch);
  /// Waits for the cotangents of the states behind the share, for `function`.
  void receiveCotangents(const std::string &function);
  /// Computes `function`: the loss of the share, and its part of the gradients.
  void runBackward() { backwards.at(share).call(); }
  /// Sends on the cotangents of the states before the share.
  void sendCotangents();

private:
  /// What the backward pass of a batch of some size needs.
  struct Backward {
    /// The cotangents of the states behind the share and before it.
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
  /// That of the last batch.
  Batch *share = nullptr;
  std::map<const Batch *, Backward> backwards;
};

/// Hands on, by messages, the states that steps of other models have inside.
class ShardMessages : public ShardPort {
public:
  /// The first `shares` ranks have steps, this one those of `window`.
  ShardMessages(Ranks &ranks, int64_t shares, StepWindow window)
      : ranks(ranks), shares(shares), window(window) {}

  int64_t firstStep() const noexcept override { return window.first; }
  int64_t allSteps() const noexcept override { return window.all; }
  void enter(const ShardState &state) noexcept override;
  void leave(const ShardState &state) noexcept override;
  void giveCotangent(const ShardState &state) noexcept override;
  void takeCotangent(const ShardState &state) noexcept override;
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

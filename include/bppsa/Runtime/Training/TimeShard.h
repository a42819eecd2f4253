//===- TimeShard.h - A rank's share of the steps of sequences --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_TIMESHARD_H
#define BPPSA_RUNTIME_TRAINING_TIMESHARD_H

#include "bppsa/Runtime/Training/Segments.h"

namespace bppsa::runtime {

/// The steps of every sequence that this rank computes: the segment of its number. States come from
/// the rank before it and go on to the one behind it; how the losses depend on them comes the other
/// way. The last ranks may have no steps.
class TimeShard {
public:
  /// The length of segments of which each of `ranks` has at most one.
  static int64_t lengthFor(int64_t steps, int ranks) { return (steps + ranks - 1) / ranks; }

  TimeShard(Session &session, Segments &segments, Ranks &ranks)
      : session(session), segments(segments), ranks(ranks) {}

  bool hasSteps() const { return ranks.rank() < segments.count(); }
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

  bool hasNext() const { return ranks.rank() + 1 < segments.count(); }
  Backward &prepare(const std::string &function);

  Session &session;
  Segments &segments;
  Ranks &ranks;
  /// That of the last batch.
  Batch *share = nullptr;
  std::map<const Batch *, Backward> backwards;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_TIMESHARD_H

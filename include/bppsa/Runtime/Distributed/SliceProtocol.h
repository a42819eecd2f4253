//===- SliceProtocol.h - When the owner of a slice receives, adds and sends -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H
#define BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H

#include <cstddef>
#include <vector>

namespace bppsa::runtime {

/// The owner's side of GradientExchange without its memory and messages. Each event returns the
/// actions that follow it, to be done in this order. A copyable value, so that a model checker can
/// explore its states.
///
/// Per step and slice, the owner receives a contribution ("push") from each other rank, adds them
/// to its own, and sends the sum to each other rank. It begins to receive the contributions of the
/// next step as soon as it has added those of this one, before it sends the sums. No rank
/// contributes to a step before it has the sum of the last one, so a receive for every contribution
/// exists before the contribution is sent.
class SliceProtocol {
public:
  struct Action {
    enum class Kind {
      /// Begin to receive a contribution to the next step from each other rank.
      ReceivePushes,
      /// Add up all contributions.
      AddUp,
      /// Send the sum to each other rank.
      SendSums
    };
    Kind kind;
    size_t slice;
  };
  using Actions = std::vector<Action>;

  /// A rank that owns `owned` slices, numbered from 0, next to `others` ranks. With `holdsSums` it
  /// sends no sum of a step before it has all of them (DeAR).
  SliceProtocol(size_t owned, int others, bool holdsSums);

  /// Before the first step.
  Actions begin() const;
  /// A contribution of another rank has arrived.
  Actions pushArrived(size_t slice);
  /// The contribution of this rank is there.
  Actions ownGiven(size_t slice);
  /// A sum has reached one of the ranks.
  Actions sumSent(size_t slice);

  /// Numbers that are equal where all later actions are.
  std::vector<int> describe() const;

private:
  struct Slice {
    /// Contributions of other ranks to the current step that have not arrived.
    int missing;
    /// Whether the contribution of this rank is there.
    bool isGiven = false;
    /// Messages with the last sum that have not ended, and 1 where the sum is held back. The next
    /// sum takes its place in memory.
    int leaving = 0;
  };

  Actions advance(size_t slice);
  void release(size_t slice, Actions &actions);

  int others;
  bool holdsSums;
  std::vector<Slice> slices;
  /// Slices whose sums are held back.
  std::vector<size_t> held;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H

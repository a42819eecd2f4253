//===- SliceProtocol.h - Protocol of a slice owner ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H
#define BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H

#include <cstddef>
#include <vector>

namespace bppsa::runtime {

/// The owner's state machine in GradientExchange, without memory and messages. Each event returns
/// the actions to perform, in order. A copyable value, so that a model checker can explore its
/// states.
///
/// Per step and slice, the owner receives a contribution ("push") from each other rank, adds them
/// to its own, and sends the sum to each other rank. After adding, and before sending the sums, it
/// posts the receives for the next step. No rank contributes to a step before it has the sum of the
/// previous step, so every contribution finds its receive already posted.
class SliceProtocol {
public:
  struct Action {
    enum class Kind {
      /// Post receives for the next step's contributions of all other ranks.
      ReceivePushes,
      AddUp,
      SendSums
    };
    Kind kind;
    size_t slice;
  };
  using Actions = std::vector<Action>;

  /// The protocol of a rank that owns `owned` slices, numbered from 0, among `others` other ranks.
  /// With `holdsSums`, sends no sum of a step before all of its sums are complete (DeAR).
  SliceProtocol(size_t owned, int others, bool holdsSums);

  Actions begin() const;
  Actions pushArrived(size_t slice);
  Actions ownGiven(size_t slice);
  /// One send of a sum has completed.
  Actions sumSent(size_t slice);

  /// A state vector. States with equal vectors have the same future actions.
  std::vector<int> describe() const;

private:
  struct Slice {
    /// Contributions to the current step that other ranks have yet to deliver.
    int missing;
    bool isGiven = false;
    /// Unfinished sends of the last sum, or 1 if the sum is held back. The next sum reuses its
    /// memory.
    int leaving = 0;
  };

  Actions advance(size_t slice);
  void release(size_t slice, Actions &actions);

  int others;
  bool holdsSums;
  std::vector<Slice> slices;
  std::vector<size_t> held;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SLICEPROTOCOL_H

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

/// The state machine of a slice owner, without memory and messages, so that a model checker can
/// explore it. Each event returns the actions to perform, in order.
///
/// Per step, the owner adds the contributions ("pushes") of all ranks and sends the sum to each. It
/// posts the receives of the next step before sending sums. No rank contributes to a step before it
/// has the previous sum, so every contribution finds its receive posted.
class SliceProtocol {
public:
  struct Action {
    enum class Kind { ReceivePushes, AddUp, SendSums };
    Kind kind;
    size_t slice;
  };
  using Actions = std::vector<Action>;

  /// Handles `owned` slices among `others` other ranks. With `holdsSums`, sends no sum before all
  /// are complete (DeAR).
  SliceProtocol(size_t owned, int others, bool holdsSums);

  Actions begin() const;
  Actions pushArrived(size_t slice);
  Actions ownGiven(size_t slice);
  Actions sumSent(size_t slice);

  /// States with equal vectors have the same future actions.
  std::vector<int> describe() const;

private:
  struct Slice {
    int missing;
    bool isGiven = false;
    /// Unfinished sends of the last sum, or 1 if it is held back. The next sum reuses its memory.
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

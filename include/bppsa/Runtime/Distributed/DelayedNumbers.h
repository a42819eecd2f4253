//===- DelayedNumbers.h - What ranks hear of each other later --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_DELAYEDNUMBERS_H
#define BPPSA_RUNTIME_DISTRIBUTED_DELAYEDNUMBERS_H

#include "bppsa/Runtime/Distributed/Ranks.h"

#include <deque>

namespace bppsa::runtime {

/// Numbers that each rank gives the others after every step, and that nobody waits for until they
/// are taken: as many of each, in the order of the steps. All ranks take those of a step before
/// they begin the same later one, so that none is ahead of another by more than is pending.
class DelayedNumbers {
public:
  explicit DelayedNumbers(Ranks &ranks) : ranks(ranks) {}

  void give(const std::vector<double> &own);
  /// Steps whose numbers were given and not taken.
  size_t pending() const { return steps.size(); }
  /// Waits for what all ranks have given of the first of these, in the order of the ranks.
  std::vector<std::vector<double>> take();

private:
  struct Step {
    std::vector<std::vector<double>> all;
    /// Messages that have not ended.
    int missing;
  };

  Ranks &ranks;
  std::deque<std::shared_ptr<Step>> steps;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_DELAYEDNUMBERS_H

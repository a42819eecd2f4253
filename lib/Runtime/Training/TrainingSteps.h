//===- TrainingSteps.h - Compiled steps of a training run -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H

#include "Variants/VariantTiming.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

namespace bppsa::runtime {

/// The compiled steps for full batches and for the rest at the end of an epoch, and the variant
/// that they are.
class TrainingSteps {
public:
  /// `batch` is filled by others, with samples of `data`; it has memory for full batches. `kind` is
  /// that of the compiled functions: `step`, or `shard` on a share of the steps.
  TrainingSteps(Session &session, const Dataset &data, Batch &batch, std::string kind)
      : session(session), data(data), batch(batch), kind(std::move(kind)) {}

  /// Chooses a variant for a run of `count` steps on batches of `sizes`: a full one, and the rest.
  /// Where it `checks`, the choice is checked while the run goes on, in programs for CPUs.
  void choose(const VariantRequest &request, const std::vector<int64_t> &sizes, int64_t count,
              bool checks);
  /// Uses the variant of that name. Sizes of 0 have no step.
  void use(const std::string &name, const std::vector<int64_t> &sizes);
  const std::string &variant() const { return used; }

  /// Starts the step on the `size` samples in `batch`. Where the choice is checked, the others
  /// compute it too, before the variant in use, whose results count. Gives a line that tells of it
  /// when a check ends with another variant, which computes the steps from the next one on; else
  /// empty.
  std::string start(int64_t size);
  /// Whether start() checks the choice on `size` samples.
  bool isCheckDue(int64_t size) const {
    return size == sizes.front() && checking.isDue(seconds, count);
  }
  /// Counts a step of the variant in use that something else has computed.
  void addStep(double taken) {
    seconds += taken;
    ++count;
  }

private:
  std::string check(Call &step);
  std::string function(const std::string &variant) const { return kind + "." + variant; }

  Session &session;
  const Dataset &data;
  Batch &batch;
  std::string kind, used;
  std::vector<int64_t> sizes;
  /// By the size of the batch.
  std::map<int64_t, Call> steps;

  VariantCheck checking;
  std::vector<const VariantInfo *> others;
  std::vector<Call> otherSteps;
  /// Of steps without a check.
  double seconds = 0;
  int64_t count = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H

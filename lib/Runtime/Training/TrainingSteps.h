//===- TrainingSteps.h - Compiled steps of a training run -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H

#include "Variants/VariantTiming.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

namespace bppsa::runtime {

/// The compiled steps of the selected variant, for full batches and for the remainder of an epoch.
class TrainingSteps {
public:
  /// `batch` is filled by the caller with samples of `data` and must have memory for full batches.
  /// `kind` selects the compiled functions: `step`, or `shard` for time shards.
  TrainingSteps(Session &session, const Dataset &data, Batch &batch, std::string kind)
      : session(session), data(data), batch(batch), kind(std::move(kind)) {}

  /// Chooses a variant for a run of `count` steps on batches of `sizes`: full batches and the
  /// remainder. With `checks`, keeps comparing it with other variants during the run (CPU programs
  /// only).
  void choose(const VariantRequest &request, const std::vector<int64_t> &sizes, int64_t count,
              bool checks);
  /// Uses the variant of that name. Sizes of 0 have no step.
  void use(const std::string &name, const std::vector<int64_t> &sizes);
  const std::string &variant() const { return used; }

  /// Starts the step on the `size` samples in `batch`. When a check is due, first runs the
  /// competing variants, whose results are overwritten. Returns a message if the check selects
  /// another variant for the following steps; otherwise an empty string.
  std::string start(int64_t size);
  bool isCheckDue(int64_t size) const {
    return size == sizes.front() && checking.isDue(seconds, count);
  }
  /// Counts a step of the current variant that was run elsewhere.
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
  /// Keyed by batch size.
  std::map<int64_t, Call> steps;

  VariantCheck checking;
  std::vector<const VariantInfo *> others;
  std::vector<Call> otherSteps;
  /// Time and number of steps without a check.
  double seconds = 0;
  int64_t count = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H

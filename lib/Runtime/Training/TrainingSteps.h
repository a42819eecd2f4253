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

/// Steps of the selected variant, for full batches and the remainder of an epoch.
class TrainingSteps {
public:
  /// `batch` must have memory for full batches. `kind` is `step`, or `shard` for time shards.
  TrainingSteps(Session &session, const Dataset &data, Batch &batch, std::string kind)
      : session(session), data(data), batch(batch), kind(std::move(kind)) {}

  /// Chooses a variant for `count` steps on batches of `sizes`. With `checks`, keeps comparing it
  /// with others (CPU programs only).
  void choose(const VariantRequest &request, const std::vector<int64_t> &sizes, int64_t count,
              bool checks);
  /// Sizes of 0 have no step.
  void use(const std::string &name, const std::vector<int64_t> &sizes);
  const std::string &variant() const { return used; }

  /// Starts the step on `size` samples. When a check is due, first runs the competing variants.
  /// Returns a message if that changes the variant.
  std::string start(int64_t size);
  bool isCheckDue(int64_t size) const {
    return size == sizes.front() && checking.isDue(seconds, count);
  }
  /// Counts a step that was run elsewhere.
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
  std::map<int64_t, Call> steps;

  VariantCheck checking;
  std::vector<const VariantInfo *> others;
  std::vector<Call> otherSteps;
  double seconds = 0;
  int64_t count = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGSTEPS_H

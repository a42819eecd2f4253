//===- TrainingSteps.h - Compiled steps of a training run -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_TRAININGSTEPS_H
#define BPPSA_RUNTIME_TRAINING_TRAININGSTEPS_H

#include "bppsa/Runtime/Variants/Dispatch.h"
#include "bppsa/Runtime/Variants/VariantTiming.h"

namespace bppsa::runtime {

/// The compiled steps for full batches and for the rest at the end of an epoch, and the variant
/// that they are.
class TrainingSteps {
public:
  /// `batch` is filled by others, with the `samples` of `data` that train; it has memory for full
  /// batches.
  TrainingSteps(Session &session, const Dataset &data, const std::vector<int64_t> &samples,
                Batch &batch)
      : session(session), data(data), samples(samples), batch(batch) {}

  /// Chooses a variant for a run of `count` steps, and checks the choice while it goes on, in
  /// programs for CPUs.
  void choose(const VariantRequest &request, int64_t batchSize, int64_t count);
  /// Uses the variant of that name.
  void use(const std::string &name, int64_t batchSize);
  const std::string &variant() const { return used; }

  /// Starts the step on the `size` samples in `batch`. Where the choice is checked, the others
  /// compute it too, before the variant in use, whose results count. Gives a line that tells of it
  /// when a check ends with another variant, which computes the steps from the next one on; else
  /// empty.
  std::string start(int64_t size);

private:
  std::string check(Call &step);

  Session &session;
  const Dataset &data;
  const std::vector<int64_t> &samples;
  Batch &batch;
  std::string used;
  int64_t fullSize = 0;
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

#endif // BPPSA_RUNTIME_TRAINING_TRAININGSTEPS_H

//===- CarriedUpdate.h - Gradients that are formed in the next step --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_CARRIEDUPDATE_H
#define BPPSA_RUNTIME_UPDATES_CARRIEDUPDATE_H

#include "bppsa/Runtime/Updates/StageStep.h"

#include <array>
#include <exception>
#include <functional>
#include <memory>

namespace bppsa::runtime {

/// The updates of a run whose steps leave gradients of some parameters to the next step
/// (`--backward-order=defer:L:next`). A step waits behind its cotangents, with all that it holds,
/// and the other parameters are updated. The next one, which has memory of its own, lets it go on
/// where it first needs a parameter whose update is missing: no value is stale.
class CarriedUpdate : public StepListener {
public:
  CarriedUpdate(Session &session, Ranks &ranks, const std::string &function,
                const std::vector<size_t> &groups, const std::function<Batch()> &makeBatch);
  ~CarriedUpdate() override;

  /// The memory for the samples of the next step.
  Batch &batch() { return steps[turn]->data.batch; }
  /// Runs the step on them until it waits, and before that what the last one has left. The loss is
  /// that of the session then.
  void run(int64_t seed);
  using Average = std::function<void(int64_t start, int64_t size)>;
  /// Updates what can be updated now, and the rest, by the rates of the session as they are then,
  /// when it is needed. `average` follows each, `where` is for errors.
  void update(Average average, std::string where);
  /// Makes the updates that are missing.
  void settle();

  void parameterNeeded(const void *values) noexcept override;
  void gradientReady(const void *gradient) noexcept override;
  void shareMeans(float *, int64_t, bool) noexcept override {}
  double lossWeight() const noexcept override { return 1; }

private:
  struct Parameter {
    /// In the model, and in the flat arrays.
    size_t index;
    int64_t start, size;
    bool isReady = false, isMissing = false;
  };

  /// A step and its memory. It has no stages, and sends nothing.
  struct Step {
    Step(Session &session, StageMail &mail, const std::string &function, Batch batch);

    MicrobatchData data;
    StageStep call;
  };

  void apply(const Step &step, size_t number);
  void finish();

  Session &session;
  Trace &trace;
  StageMail mail;
  std::vector<Parameter> parameters;
  /// Numbers of parameters by their values.
  std::map<const void *, size_t> byValues;
  /// They take turns.
  std::array<std::unique_ptr<Step>, 2> steps;
  size_t turn = 0;
  /// Of the step that was begun last, from 1, for the trace.
  int64_t number = 0;
  /// The step that waits for the next one; null where none does.
  Step *waiting = nullptr;
  Average average;
  std::string where;
  /// What went wrong while a step was running.
  std::exception_ptr error;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_CARRIEDUPDATE_H

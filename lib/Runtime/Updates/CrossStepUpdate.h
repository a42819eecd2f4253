//===- CrossStepUpdate.h - Gradients computed during the next step --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_CROSSSTEPUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_CROSSSTEPUPDATE_H

#include "Updates/DeferredUpdate.h"
#include "Updates/StepRun.h"

#include <array>
#include <memory>

namespace bppsa::runtime {

/// Updates of steps that defer some parameter gradients to the next step
/// (`--backward-order=defer:L:next`). A step pauses after its cotangents, and the parameters whose
/// gradients are final are updated. The next step, which has separate memory, resumes the paused
/// step when it first needs a parameter that has not been updated.
class CrossStepUpdate final : public DeferredUpdate {
public:
  CrossStepUpdate(Session &session, Ranks &ranks, const std::string &function,
                  const std::vector<size_t> &groups, const std::function<Batch()> &makeBatch);
  /// A paused step runs to its end without completing its update.
  ~CrossStepUpdate() override { waiting = nullptr; }

  Microbatch &next() { return steps[turn]->data; }
  /// Runs the step on the next microbatch until it pauses, and before that the deferred part of the
  /// previous step. Stores the losses in the session.
  void run();
  /// Updates the parameters whose gradients are final. The others are updated later, with the
  /// session's learning rates at that time.
  void update(UpdateRule rule);
  void settle() override;

  void gradientReady(const void *gradient) noexcept override;

private:
  struct Step {
    Step(CrossStepUpdate &update, Ranks &ranks, const std::string &function, Batch batch)
        : data(update.session.program.model, std::move(batch),
               Buffer(update.session.parameters.gradientCount() * sizeof(float))),
          call(update.session, ranks, update.mail, function, data, {nullptr, nullptr, &update}) {}

    Microbatch data;
    StepRun call;
  };

  void complete(size_t) override { settle(); }
  void collect(size_t number) override;
  [[noreturn]] void refuse() override { refuseGradients(session, rule.where); }

  Trace &trace;
  /// Required by StepRun; unused without stages.
  StageMail mail;
  /// Used alternately.
  std::array<std::unique_ptr<Step>, 2> steps;
  size_t turn = 0;
  /// For the trace, from 1.
  int64_t number = 0;
  /// The step of the last update, and the paused step; null if there is none.
  Step *source = nullptr, *waiting = nullptr;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_CROSSSTEPUPDATE_H

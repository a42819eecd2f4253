//===- CarriedUpdate.h - Gradients computed during the next step ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_CARRIEDUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_CARRIEDUPDATE_H

#include "Updates/DeferredUpdate.h"
#include "Updates/StepRun.h"

#include <array>
#include <memory>

namespace bppsa::runtime {

/// Updates of steps that leave gradients of some parameters to the next step
/// (`--backward-order=defer:L:next`). A step pauses after its cotangents, and the other parameters
/// are updated. The next step, which has its own memory, resumes it where it first needs a
/// parameter whose update is missing.
class CarriedUpdate final : public DeferredUpdate {
public:
  CarriedUpdate(Session &session, Ranks &ranks, const std::string &function,
                const std::vector<size_t> &groups, const std::function<Batch()> &makeBatch);
  /// A paused step runs to its end, which completes no update.
  ~CarriedUpdate() override { waiting = nullptr; }

  /// The microbatch of the next step.
  Microbatch &next() { return steps[turn]->data; }
  /// Runs the step on it until it pauses, and what the last step has left before that. Then the
  /// losses are in the session.
  void run();
  /// Updates the parameters whose gradients are there; the others wait. Uses the rates that the
  /// session has at that time.
  void update(UpdateRule rule);
  void settle() override;

  void gradientReady(const void *gradient) noexcept override;

private:
  struct Step {
    Step(CarriedUpdate &update, Ranks &ranks, const std::string &function, Batch batch)
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
  /// Without stages nothing is sent.
  StageMail mail;
  /// They take turns.
  std::array<std::unique_ptr<Step>, 2> steps;
  size_t turn = 0;
  /// The number of the last step, from 1, for the trace.
  int64_t number = 0;
  /// The step of the last update, and the one that is paused; null if there is none.
  Step *source = nullptr, *waiting = nullptr;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_CARRIEDUPDATE_H

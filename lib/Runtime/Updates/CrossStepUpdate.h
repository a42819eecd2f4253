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

/// Updates for `--backward-order=defer:L:next`. A step pauses after its cotangents, and parameters
/// with final gradients are updated. The next step, which has separate memory, resumes the paused
/// one when it first needs another parameter.
class CrossStepUpdate final : public DeferredUpdate {
public:
  CrossStepUpdate(Session &session, Ranks &ranks, const std::string &function,
                  const std::vector<size_t> &groups, const std::function<Batch()> &makeBatch);
  /// A paused step runs to its end without its update.
  ~CrossStepUpdate() override { waiting = nullptr; }

  Microbatch &next() { return steps[turn]->data; }
  /// Runs the next step until it pauses, preceded by the deferred part of the previous one.
  void run();
  /// Other parameters are updated later, with the learning rates of that time.
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
  /// Unused; required by StepRun.
  StageMail mail;
  std::array<std::unique_ptr<Step>, 2> steps;
  size_t turn = 0;
  int64_t number = 0;
  Step *source = nullptr, *waiting = nullptr;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_CROSSSTEPUPDATE_H

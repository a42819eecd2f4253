//===- StageUpdate.h - Updates of the stages of a pipeline ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H

#include "Training/TrainingRun.h"
#include "Updates/StageParameters.h"

namespace bppsa::runtime {

/// Updates the parameters of a pipeline stage without waiting for the loss and the norm of the
/// other ranks. These follow before the next update. If --clip-norm then shows that the gradients
/// were too large, the update is taken back and repeated, as Zero Bubble validates after the update
/// (Qi et al., ICLR 2024).
class StageUpdate {
public:
  StageUpdate(TrainingRun &run, StageParameters &parameters) : run(run), parameters(parameters) {}

  /// Takes the outcome of the last update, and tells other ranks the sum of the losses of this
  /// rank; samples of all have the weight `weight`. The gradients are in the session.
  void tell(double loss, double weight);
  void update();
  /// Waits for the outcome of the last update. Returns false if that was taken back and repeated.
  bool validate();
  /// Whether the last update may still be taken back.
  bool isProvisional() const { return isKept; }

private:
  struct Outcome {
    LossSums losses;
    double squares = 0;
  };
  Outcome receive();
  /// Takes over the losses and the norm of the last update, if they have not been.
  void takeOutcome();
  void updateAhead();
  bool isOutcomeNear() const;
  void clip();
  [[noreturn]] void refuseOwn();
  [[noreturn]] void refuse();

  TrainingRun &run;
  StageParameters &parameters;
  /// What this rank has told of the last update, which step that was, and the weight of its
  /// samples; null once the outcome is taken.
  std::shared_ptr<Ranks::Gathering> told;
  std::string toldStep;
  double toldWeight = 0;
  /// The squares of the gradients of this rank and of all ranks.
  double ownSquares = 0, squares = 0;
  /// Whether the last gradients were clipped.
  bool wasClipped = false;
  AfterUpdate average;
  bool isKept = false;
  /// The time to copy parameters, and from tell() to the last outcome.
  double keepSeconds = 0, outcomeSeconds = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H

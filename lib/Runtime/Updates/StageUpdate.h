//===- StageUpdate.h - Updates of pipeline stages -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H

#include "Training/TrainingRun.h"
#include "Updates/StageParameters.h"

namespace bppsa::runtime {

/// Updates the parameters of this rank's pipeline stages without waiting for the loss and the
/// gradient norm of other ranks, which arrive before the next update. If --clip-norm then requires
/// clipping, the update is rolled back and repeated, as in the post-validation of Zero Bubble (Qi
/// et al., ICLR 2024).
class StageUpdate {
public:
  StageUpdate(TrainingRun &run, StageParameters &parameters) : run(run), parameters(parameters) {}

  /// Takes the outcome of the last update, then sends the loss sum and gradient norm of this rank
  /// to all ranks. The samples of all ranks have total weight `weight`. The gradients must be in
  /// the session.
  void tell(double loss, double weight);
  void update();
  /// Waits for the outcome of the last update. Returns false if the update was rolled back and
  /// repeated.
  bool validate();
  bool isProvisional() const { return isKept; }

private:
  struct Outcome {
    LossSums losses;
    double squares = 0;
  };
  Outcome receive();
  /// Accepts the losses and the norm of the last update, if that has not happened yet.
  void receiveOutcome();
  void updateAhead();
  bool isOutcomeNear() const;
  void clip();
  [[noreturn]] void refuseOwn();
  [[noreturn]] void refuse();

  TrainingRun &run;
  StageParameters &parameters;
  /// The gathering started by tell(), its step, and the weight of its samples. Null once the
  /// outcome has been taken.
  std::shared_ptr<Ranks::Gathering> told;
  std::string toldStep;
  double toldWeight = 0;
  /// Of this rank, and of all ranks.
  double ownSquares = 0, squares = 0;
  bool wasClipped = false;
  AfterUpdate average;
  bool isKept = false;
  /// The time to copy parameters, and the time from tell() to the last outcome.
  double keepSeconds = 0, outcomeSeconds = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H

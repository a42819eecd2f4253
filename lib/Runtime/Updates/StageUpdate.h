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

/// Updates without waiting for loss and gradient norm of other ranks. If --clip-norm then requires
/// clipping, rolls the update back and repeats it, as in Zero Bubble (Qi et al., ICLR 2024).
class StageUpdate {
public:
  StageUpdate(TrainingRun &run, StageParameters &parameters) : run(run), parameters(parameters) {}

  /// Takes the last outcome, then sends this rank's loss and norm. `weight` is the sample weight of
  /// all ranks.
  void tell(double loss, double weight);
  void update();
  /// Waits for the last outcome. Returns false if the update was repeated.
  bool validate();
  bool isProvisional() const { return isKept; }

private:
  struct Outcome {
    LossSums losses;
    double squares = 0;
  };
  Outcome receive();
  void receiveOutcome();
  void updateAhead();
  bool isOutcomeNear() const;
  void clip();
  [[noreturn]] void refuseOwn();
  [[noreturn]] void refuse();

  TrainingRun &run;
  StageParameters &parameters;
  std::shared_ptr<Ranks::Gathering> told;
  std::string toldStep;
  double toldWeight = 0;
  double ownSquares = 0, squares = 0;
  bool wasClipped = false;
  AfterUpdate average;
  bool isKept = false;
  double keepSeconds = 0, outcomeSeconds = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEUPDATE_H

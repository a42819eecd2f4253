//===- StageStep.h - A microbatch in a stage of a pipeline ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_STAGESTEP_H
#define BPPSA_RUNTIME_UPDATES_STAGESTEP_H

#include "bppsa/Runtime/Distributed/StageMail.h"
#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Distributed/StepListener.h"
#include "bppsa/Runtime/Updates/MicrobatchCalls.h"
#include "bppsa/Runtime/Updates/PausedStep.h"

#include <map>

namespace bppsa::runtime {

/// A microbatch in a stage, from its forward to the end of its backward part.
class StageStep : public StagePort {
public:
  /// `function` is that of the stage.
  StageStep(Session &session, StageMail &mail, std::string function, MicrobatchData &data)
      : mail(mail), calls(session, std::move(function), data) {}
  /// An error may end the run while the step is paused.
  ~StageStep() override { drop(); }

  void beginPhase(int64_t phase) noexcept override;
  void send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept override;
  void receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept override;

  /// Is told what the step does, where it tells.
  StepListener *listener = nullptr;
  /// Runs the forward part.
  void forward();
  /// Runs the next part, or all that are left; gradients and loss are there then.
  void goOn(bool toEnd);
  bool isPaused() const { return step.isPaused(); }
  /// Ends a microbatch of which nothing counts: the parts that are left exchange nothing, and
  /// compute on zeros.
  void drop();

  /// The seconds that it has waited for other stages.
  double waited() const { return secondsWaited; }
  /// The bytes that the last microbatch sent to each stage.
  const std::map<int, uint64_t> &sentBytes() const { return sent; }

private:
  StageMail &mail;
  MicrobatchCalls calls;
  double secondsWaited = 0;
  bool isDropped = false;
  std::map<int, uint64_t> sent;
  PausedStep step;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_STAGESTEP_H

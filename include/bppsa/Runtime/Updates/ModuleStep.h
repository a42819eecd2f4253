//===- ModuleStep.h - The step of an interlocked module --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_MODULESTEP_H
#define BPPSA_RUNTIME_UPDATES_MODULESTEP_H

#include "bppsa/Runtime/Distributed/StageMail.h"
#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Session.h"

#include <optional>

namespace bppsa::runtime {

/// The steps of the module that this rank has. A module waits for the activations of those before
/// it and, on its way, for the cotangents that reach it, and for nothing else.
class ModuleStep : public StagePort {
public:
  ModuleStep(Session &session, Ranks &ranks, std::string function)
      : session(session), ranks(ranks), mail(ranks, session.program.model),
        function(std::move(function)) {}

  /// Computes the step on what is in `batch`: the loss of the module and its gradients are there
  /// then.
  void run(Batch &batch);
  void beginPhase(int64_t phase) noexcept override;
  void send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept override;
  void receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept override;

private:
  Session &session;
  Ranks &ranks;
  StageMail mail;
  const std::string function;
  /// By the size of the batch, always the same one.
  std::map<int64_t, Call> calls;
  /// For the trace: the number of the step, and the part that goes on.
  int64_t number = 0;
  std::optional<TraceScope> part;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_MODULESTEP_H

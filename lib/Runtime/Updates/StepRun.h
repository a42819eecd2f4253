//===- StepRun.h - A compiled step on a microbatch ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STEPRUN_H
#define BPPSA_LIB_RUNTIME_UPDATES_STEPRUN_H

#include "Distributed/StageMail.h"
#include "Distributed/StepPorts.h"
#include "Updates/PausedStep.h"
#include "bppsa/Runtime/Session.h"

#include <map>
#include <optional>

namespace bppsa::runtime {

struct Microbatch {
  /// Results are stored in the session, or in the microbatch with `gradients`.
  Microbatch() = default;
  Microbatch(const Model &model, Batch batch, Buffer gradients);

  bool counts() const { return weights.front() != 0; }
  float lossOf(size_t number) const { return losses.empty() ? loss : losses[number]; }

  Batch batch;
  /// The weight in each loss. If the first weight is 0, the step is skipped.
  std::vector<double> weights = {};
  int64_t seed = 0;
  float loss = 0;
  std::vector<float> losses = {};
  Buffer gradients;
};

class StepRun final : public StagePort {
public:
  enum class Parts {
    /// Uses a separate thread and pauses before each later part.
    Pausing,
    /// Runs to its end on the caller's thread.
    Joined
  };
  StepRun(Session &session, Ranks &ranks, StageMail &mail, std::string function,
          Microbatch &microbatch, StepPorts ports = {}, Parts parts = Parts::Pausing);
  /// Completes a paused step.
  ~StepRun() override;

  void start();
  /// Runs the next part, or all remaining ones.
  void resume(bool toEnd);
  bool isPaused() const { return thread && thread->isPaused(); }
  /// Runs the remaining parts with zeros in place of messages.
  void drop();

  double waited() const { return secondsWaited; }
  const std::map<int, uint64_t> &sentBytes() const { return sent; }

  void beginPhase(int64_t phase) noexcept override;
  void send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept override;
  void receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept override;

private:
  Call &find();

  Session &session;
  Ranks &ranks;
  StageMail &mail;
  const std::string function;
  Microbatch &microbatch;
  StepPorts ports;
  std::map<int64_t, Call> calls;
  double secondsWaited = 0;
  bool isDropped = false;
  std::map<int, uint64_t> sent;
  int64_t number = 0;
  std::optional<TraceScope> part;
  std::optional<PausedStep> thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STEPRUN_H

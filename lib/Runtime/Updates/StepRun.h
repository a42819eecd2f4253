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

/// A batch, or a part of one, and the results of a step on it.
struct Microbatch {
  /// Results are stored in the session by default; with `gradients`, a flat array, they are stored
  /// in the microbatch.
  Microbatch() = default;
  Microbatch(const Model &model, Batch batch, Buffer gradients);

  bool counts() const { return weights.front() != 0; }
  float lossOf(size_t number) const { return losses.empty() ? loss : losses[number]; }

  Batch batch;
  /// The weight of its samples in each loss. If the first weight is 0, there is no loss and the
  /// step is skipped.
  std::vector<double> weights = {};
  int64_t seed = 0;
  /// The sum of the losses and, if there are several, each loss.
  float loss = 0;
  std::vector<float> losses = {};
  /// In the layout of all gradients.
  Buffer gradients;
};

/// Runs a compiled step or pipeline stage on a microbatch.
class StepRun final : public StagePort {
public:
  enum class Parts {
    /// Runs on a separate thread and pauses before each later part.
    Pausing,
    /// Runs to its end on the caller's thread. Only the trace shows the parts.
    Joined
  };
  StepRun(Session &session, Ranks &ranks, StageMail &mail, std::string function,
          Microbatch &microbatch, StepPorts ports = {}, Parts parts = Parts::Pausing);
  /// Completes a paused step, as an error may end the run in the meantime.
  ~StepRun() override;

  void start();
  /// Runs the next part, or all remaining parts, after which results are available.
  void resume(bool toEnd);
  bool isPaused() const { return thread && thread->isPaused(); }
  /// Runs the remaining parts without messages, receiving zeros. The results are meaningless.
  void drop();

  /// In seconds.
  double waited() const { return secondsWaited; }
  /// By receiving stage, for the last microbatch.
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
  /// Keyed by batch size.
  std::map<int64_t, Call> calls;
  double secondsWaited = 0;
  bool isDropped = false;
  std::map<int, uint64_t> sent;
  /// Joined steps: the number of the step and the running part, for the trace.
  int64_t number = 0;
  std::optional<TraceScope> part;
  std::optional<PausedStep> thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STEPRUN_H

//===- StepRun.h - A compiled step on a microbatch ------------------------------===//
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
  /// The results are in the session, or in `gradients`, a flat array, and the losses here.
  Microbatch() = default;
  Microbatch(const Model &model, Batch batch, Buffer gradients);

  bool counts() const { return weights.front() != 0; }
  float lossOf(size_t number) const { return losses.empty() ? loss : losses[number]; }

  Batch batch;
  /// The weight of its samples in each loss. If the first one is 0, there is no loss, and no step
  /// runs.
  std::vector<double> weights = {};
  int64_t seed = 0;
  /// The sum of the losses and, if there are several, each.
  float loss = 0;
  std::vector<float> losses = {};
  /// In the layout of all gradients.
  Buffer gradients;
};

/// A compiled step on a microbatch, or a stage of one, from its forward part to its end.
class StepRun final : public StagePort {
public:
  enum class Parts {
    /// Runs on a thread of its own and pauses before each later part.
    Pausing,
    /// Runs to its end on the thread of the caller. The trace shows the parts.
    Joined
  };
  StepRun(Session &session, Ranks &ranks, StageMail &mail, std::string function,
          Microbatch &microbatch, StepPorts ports = {}, Parts parts = Parts::Pausing);
  /// An error may end the run while the step is paused.
  ~StepRun() override;

  /// Runs the first part.
  void start();
  /// Runs the next part, or all remaining ones; then the results are there.
  void resume(bool toEnd);
  bool isPaused() const { return thread && thread->isPaused(); }
  /// Runs the remaining parts on zeros, without messages; the results are meaningless.
  void drop();

  /// Seconds spent waiting for other stages.
  double waited() const { return secondsWaited; }
  /// The bytes sent to each stage for the last microbatch.
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
  /// By the size of the batch.
  std::map<int64_t, Call> calls;
  double secondsWaited = 0;
  bool isDropped = false;
  std::map<int, uint64_t> sent;
  /// Of a joined step: its number, and the part that runs, for the trace.
  int64_t number = 0;
  std::optional<TraceScope> part;
  std::optional<PausedStep> thread;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STEPRUN_H

//===- SharedMicrobatch.h - A microbatch on a share of the steps ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_SHAREDMICROBATCH_H
#define BPPSA_RUNTIME_UPDATES_SHAREDMICROBATCH_H

#include "bppsa/Runtime/Distributed/ShardPort.h"
#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Distributed/StepListener.h"
#include "bppsa/Runtime/Updates/MicrobatchCalls.h"
#include "bppsa/Runtime/Updates/PausedStep.h"

#include <optional>

namespace bppsa::runtime {

/// A microbatch of which a rank computes its share of the steps. While it waits for its cotangents
/// others go forward.
class SharedMicrobatch : public StagePort, public StepListener {
public:
  /// `function` is that of the share; `batch` has memory for full microbatches.
  SharedMicrobatch(Session &session, ShardPort &states, std::string function, Batch batch);
  /// An error may end the run while the step is paused: its rest exchanges nothing.
  ~SharedMicrobatch() override;

  /// Runs the forward part on what is in the batch.
  void forward();
  /// Runs the rest; gradients, times what the first loss counts, and losses are there then.
  void backward() { step.resume(); }

  MicrobatchData data;
  /// What its positions count.
  std::vector<double> weights;
  float lossOf(size_t number) const {
    return data.losses.empty() ? data.loss : data.losses[number];
  }

  // Parameters are updated before the first microbatch.
  void parameterNeeded(const void *) noexcept override {}
  void gradientReady(const void *) noexcept override {}
  /// Ranks that have all samples have all statistics of them.
  void shareMeans(float *, int64_t, bool) noexcept override {}
  double lossWeight() const noexcept override { return weights.front(); }
  /// Pauses where the backward part begins.
  void beginPhase(int64_t phase) noexcept override;
  // A share is no stage.
  void send(int, int64_t, const void *, uint64_t) noexcept override {}
  void receive(int, int64_t, void *, uint64_t) noexcept override {}

private:
  ShardPort &states;
  MicrobatchCalls calls;
  /// Of the thread of the step, while it runs.
  std::optional<ShardPortUse> exchanges;
  bool isDropped = false;
  PausedStep step;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_SHAREDMICROBATCH_H

//===- StagePort.h - What the stages of a pipeline exchange ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_STAGEPORT_H
#define BPPSA_RUNTIME_DISTRIBUTED_STAGEPORT_H

#include <cstdint>

namespace bppsa::runtime {

/// Is told, on the thread that runs the compiled stage of a pipeline, where the stage is and what
/// it exchanges with others. Nothing may be thrown: compiled code cannot unwind it.
class StagePort {
public:
  virtual ~StagePort() = default;

  /// Part `phase` of the stage begins: 0 forward, 1 backward, 2 gradients of parameters where they
  /// are apart. What comes first waits here.
  virtual void beginPhase(int64_t phase) noexcept = 0;
  /// Takes a copy of `bytes` bytes for `stage`.
  virtual void send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept = 0;
  /// Waits for what `stage` has sent through `channel`.
  virtual void receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept = 0;
};

/// While this lives, the compiled stages that this thread runs use `port`.
class StagePortUse {
public:
  explicit StagePortUse(StagePort &port);
  ~StagePortUse();
  StagePortUse(const StagePortUse &) = delete;
};

/// That of this thread; null where it runs no stage.
StagePort *currentStagePort();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_STAGEPORT_H

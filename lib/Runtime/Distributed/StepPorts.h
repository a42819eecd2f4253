//===- StepPorts.h - Callbacks of compiled steps --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A compiled step calls the ports of the thread that runs it: to pause, to exchange messages with
// other ranks, and to announce parameters and gradients. Ports must not throw, because compiled
// code cannot be unwound.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_STEPPORTS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_STEPPORTS_H

#include <cstdint>

namespace bppsa::runtime {

class StagePort {
public:
  virtual ~StagePort() = default;

  /// Part `phase` of the stage begins: 0 forward, 1 backward, 2 parameter gradients if they are
  /// computed apart.
  virtual void beginPhase(int64_t phase) noexcept = 0;
  virtual void send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept = 0;
  virtual void receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept = 0;
};

/// A recurrent state, or its cotangent, at the border of two time shards.
struct ShardState {
  void *data;
  uint64_t bytes;
  /// The loop runs from the last step to the first.
  bool isReverse;
  int64_t channel;
};

/// The affine map of a time shard on the cotangents of its last states: for each of `samples`
/// samples the columns of A, `size` values each, and s. `into` receives the cotangents.
struct ShardMap {
  const float *matrix, *own;
  float *into;
  int64_t samples, size;
  /// The loop runs from the last step to the first.
  bool isReverse;
};

/// "Before" and "after" follow the direction of the loop.
class ShardPort {
public:
  virtual ~ShardPort() = default;

  /// The number of the first step of the shard, and of the steps of all shards.
  virtual int64_t firstStep() const noexcept = 0;
  virtual int64_t allSteps() const noexcept = 0;

  /// Waits for the last state of the shard before; the first shard keeps its own.
  virtual void enter(const ShardState &state) noexcept = 0;
  /// Sends a copy of the state to the shard after.
  virtual void leave(const ShardState &state) noexcept = 0;
  /// Sends the cotangent of the entered state to the shard before and clears it; the first shard
  /// keeps it.
  virtual void sendCotangent(const ShardState &state) noexcept = 0;
  /// Waits for the cotangent of the state that left; zeros in the last shard.
  virtual void receiveCotangent(const ShardState &state) noexcept = 0;
  /// Waits for the composed map of all shards after this one; zeros in the last shard.
  virtual void scan(const ShardMap &map) noexcept = 0;
};

/// The use of parameters and gradients by a step.
class StepListener {
public:
  virtual ~StepListener() = default;

  /// From here on the step reads the parameter at `values` or writes its gradient.
  virtual void parameterNeeded(const void *values) noexcept = 0;
  /// The gradient at `gradient` is final, and the step does not read it again.
  virtual void gradientReady(const void *gradient) noexcept = 0;
  /// Replaces `count` means over the samples of this rank by those over all ranks, or cotangents of
  /// the latter by cotangents of the former.
  virtual void shareMeans(float *, int64_t, bool /*areCotangents*/) noexcept {}
  /// The weight of this rank's samples in the loss.
  virtual double lossWeight() const noexcept { return 1; }
};

/// Null if nothing listens.
struct StepPorts {
  StagePort *stage = nullptr;
  ShardPort *shard = nullptr;
  StepListener *listener = nullptr;
};

StepPorts &currentPorts();

/// Adds ports to this thread during its lifetime.
class StepPortsUse {
public:
  explicit StepPortsUse(StepPorts ports);
  ~StepPortsUse() { currentPorts() = outer; }
  StepPortsUse(const StepPortsUse &) = delete;

private:
  const StepPorts outer;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_STEPPORTS_H

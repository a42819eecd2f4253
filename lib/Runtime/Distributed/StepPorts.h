//===- StepPorts.h - Callbacks of compiled steps --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A compiled step calls the ports of its thread to pause and to exchange data. Ports must not
// throw, because compiled code cannot be unwound.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_STEPPORTS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_STEPPORTS_H

#include <cstdint>

namespace bppsa::runtime {

class StagePort {
public:
  virtual ~StagePort() = default;

  /// Phases: 0 forward, 1 backward, 2 separate parameter gradients.
  virtual void beginPhase(int64_t phase) noexcept = 0;
  virtual void send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept = 0;
  virtual void receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept = 0;
};

struct ShardState {
  void *data;
  uint64_t bytes;
  bool isReverse;
  int64_t channel;
};

/// The affine map of a time shard on cotangents: for each sample, the columns of A and s, `size`
/// values each. `into` receives the result.
struct ShardMap {
  const float *matrix, *own;
  float *into;
  int64_t samples, size;
  bool isReverse;
};

/// Preceding and later shards follow the direction of the loop.
class ShardPort {
public:
  virtual ~ShardPort() = default;

  virtual int64_t firstStep() const noexcept = 0;
  virtual int64_t allSteps() const noexcept = 0;

  /// Waits for the preceding shard's last state; the first shard keeps its own.
  virtual void enter(const ShardState &state) noexcept = 0;
  virtual void leave(const ShardState &state) noexcept = 0;
  /// Sends the cotangent of the entered state back and clears it; the first shard keeps it.
  virtual void sendCotangent(const ShardState &state) noexcept = 0;
  /// Waits for the cotangent of the state that left; zeros in the last shard.
  virtual void receiveCotangent(const ShardState &state) noexcept = 0;
  /// Waits for the composed map of all later shards; zeros in the last shard.
  virtual void scan(const ShardMap &map) noexcept = 0;
};

class StepListener {
public:
  virtual ~StepListener() = default;

  /// The step is about to read the parameter or write its gradient.
  virtual void parameterNeeded(const void *values) noexcept = 0;
  /// The gradient is final and not read again.
  virtual void gradientReady(const void *gradient) noexcept = 0;
  /// Replaces means over this rank's samples by means over all ranks; for cotangents, the converse.
  virtual void shareMeans(float *, int64_t, bool /*areCotangents*/) noexcept {}
  /// Returns the weight of this rank's samples in the loss.
  virtual double lossWeight() const noexcept { return 1; }
};

struct StepPorts {
  StagePort *stage = nullptr;
  ShardPort *shard = nullptr;
  StepListener *listener = nullptr;
};

StepPorts &currentPorts();

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

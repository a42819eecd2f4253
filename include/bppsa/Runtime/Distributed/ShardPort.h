//===- ShardPort.h - States of shares of the steps ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_SHARDPORT_H
#define BPPSA_RUNTIME_DISTRIBUTED_SHARDPORT_H

#include <cstdint>

namespace bppsa::runtime {

/// A state that goes from share to share of the steps of sequences, or its cotangent.
struct ShardState {
  void *data;
  uint64_t bytes;
  /// Of a loop that runs from the last step to the first.
  bool isReverse;
  int64_t channel;
};

/// What a share does with the cotangents of its last states: of each of `samples` samples the
/// columns of A, `size` values each, and s. `into` gets the cotangents themselves.
struct ShardMap {
  const float *matrix, *own;
  float *into;
  int64_t samples, size;
  /// Of a loop that runs from the last step to the first.
  bool isReverse;
};

/// Hands on, on the thread that runs a compiled step on a share of the steps, what that exchanges
/// with the shares before and behind it, as seen by the loop. Nothing may be thrown: compiled code
/// cannot unwind it.
class ShardPort {
public:
  virtual ~ShardPort() = default;

  /// The number of the first step of the share, and of the steps of all shares.
  virtual int64_t firstStep() const noexcept = 0;
  virtual int64_t allSteps() const noexcept = 0;

  /// Waits for the state behind the share before; the first share keeps what is there.
  virtual void enter(const ShardState &state) noexcept = 0;
  /// Hands a copy of it to the share behind.
  virtual void leave(const ShardState &state) noexcept = 0;
  /// Hands the cotangent of what entered to the share before, and makes it zero; the first share
  /// keeps it.
  virtual void giveCotangent(const ShardState &state) noexcept = 0;
  /// Waits for the cotangent of what left; zeros in the last share.
  virtual void takeCotangent(const ShardState &state) noexcept = 0;
  /// Waits for what the maps of all shares behind make; zeros in the last share.
  virtual void scan(const ShardMap &map) noexcept = 0;
};

/// While this lives, the steps that this thread runs use `port`. Without one a step has all steps.
class ShardPortUse {
public:
  explicit ShardPortUse(ShardPort &port);
  ~ShardPortUse();
  ShardPortUse(const ShardPortUse &) = delete;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_SHARDPORT_H

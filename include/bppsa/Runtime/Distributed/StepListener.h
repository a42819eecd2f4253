//===- StepListener.h - What training steps tell while they run -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_STEPLISTENER_H
#define BPPSA_RUNTIME_DISTRIBUTED_STEPLISTENER_H

#include <cstdint>

namespace bppsa::runtime {

/// Is told, on the thread that runs a compiled step, what the step is about to use and what it has
/// done. Nothing may be thrown: compiled code cannot unwind it.
class StepListener {
public:
  virtual ~StepListener() = default;

  /// The step uses the parameter at `values`, or writes its gradient, from here on.
  virtual void parameterNeeded(const void *values) noexcept = 0;
  /// The step does not use the gradient at `gradient` any more, which is final.
  virtual void gradientReady(const void *gradient) noexcept = 0;
  /// Makes the `count` means at `means`, over the samples of this rank, those over the samples of
  /// all ranks, or cotangents of the latter cotangents of the former.
  virtual void shareMeans(float *means, int64_t count, bool areCotangents) noexcept = 0;
  /// What the samples of this rank count in the loss.
  virtual double lossWeight() const noexcept = 0;
};

/// While this lives, the steps that this thread runs tell `listener`.
class StepListening {
public:
  explicit StepListening(StepListener &listener);
  ~StepListening();
  StepListening(const StepListening &) = delete;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_STEPLISTENER_H

//===- TrainingObserver.h - Observer of a training run --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H

#include "Training/Checkpoint.h"

#include <string>

namespace bppsa::runtime {

/// Called on the training thread.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;

  virtual void showVariant(const std::string &name) = 0;
  virtual void showRate(double value) = 0;
  /// `loss` is the mean of the epoch so far.
  virtual void batchDone(const TrainState &state, double loss, int64_t samples) = 0;
  virtual bool epochDone(const EpochRecord &record) = 0;
  virtual void note(const std::string &line) = 0;
  virtual void warn(const std::string &line) = 0;
  /// Checked before each batch. Returns true to end the run.
  virtual bool isInterrupted() = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H

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

/// Receives the progress of a training run and may end it. Called on the training thread.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;

  /// The variant and the learning rate of the following steps.
  virtual void showVariant(const std::string &name) = 0;
  virtual void showRate(double value) = 0;
  /// Called after each batch with the mean loss of the epoch so far and the number of samples in
  /// the batch.
  virtual void batchDone(const TrainState &state, double loss, int64_t samples) = 0;
  /// Called after each epoch. Returns true to end the run.
  virtual bool epochDone(const EpochRecord &record) = 0;
  virtual void note(const std::string &line) = 0;
  virtual void warn(const std::string &line) = 0;
  /// Called before each batch. Returns true to end the run immediately.
  virtual bool isInterrupted() = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H

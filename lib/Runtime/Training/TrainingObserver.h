//===- TrainingObserver.h - Who watches training --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H

#include "Training/Checkpoint.h"

#include <string>

namespace bppsa::runtime {

/// Is told how a training run goes on, and may end it. Called by the thread that trains.
class TrainingObserver {
public:
  virtual ~TrainingObserver() = default;

  /// What computes the steps from now on, and their learning rate.
  virtual void showVariant(const std::string &name) = 0;
  virtual void showRate(double value) = 0;
  /// After each batch: where training stands, the mean loss of this epoch so far, the number of
  /// samples in the batch.
  virtual void batchDone(const TrainState &state, double loss, int64_t samples) = 0;
  /// After each epoch, as the last record tells it. Returns whether the run is to end here.
  virtual bool epochDone(const EpochRecord &record) = 0;
  /// A line that tells of the run, and one of something that went wrong while it goes on.
  virtual void note(const std::string &line) = 0;
  virtual void warn(const std::string &line) = 0;
  /// Asked before each batch: whether the run is to end at once.
  virtual bool isInterrupted() = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGOBSERVER_H

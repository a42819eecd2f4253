//===- Trainer.h - The epochs of a training run ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAINER_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAINER_H

#include "Training/BatchSource.h"
#include "Training/RunFiles.h"
#include "Updates/UpdateExecutor.h"

namespace bppsa::runtime {

enum class RunEnd { Done, Interrupted };

/// Trains and validates. With one rank, parameters after an exception are those after the last
/// complete step.
class Trainer {
public:
  /// `earlier` counts optimizer updates before the run. Session, options and ranks must outlive the
  /// trainer.
  Trainer(Session &session, const Options &options, Ranks &ranks, TrainingData data,
          TrainSettings defaults, int64_t earlier = 0)
      : log(options.log),
        training(session, options, ranks, std::move(data), std::move(defaults), earlier),
        files(training, log), source(training), updates(training, source) {}

  RunEnd run(TrainingObserver &observer);
  /// Prints losses for increasing learning rates and a suggestion. Saves nothing.
  RunEnd searchRate(TrainingObserver &observer);

  int64_t epochCount() const { return training.epochs; }
  /// Returns 0 if only the stream knows.
  int64_t batchCount() const { return training.batchesPerEpoch; }
  const TrainState &current() const { return training.state; }
  bool hasLostFiles() const { return files.hasLost(); }
  void takeAverage();

private:
  RunEnd runEpochs();
  bool runEpoch();
  bool tryEpoch();
  bool finishEpoch();
  bool validate(EpochRecord &record);
  std::optional<Evaluation> evaluateAll();
  void takeStatistics();
  void noteBest(const EpochRecord &record);
  bool isPatienceOver() const;

  MetricsLog log;
  TrainingRun training;
  RunFiles files;
  BatchSource source;
  UpdateExecutor updates;
  bool isEnough = false;
};

/// Runs `train` on all ranks. Returns 0; 1 if a checkpoint or the log could not be written; or 128
/// + the interrupting signal.
int train(const Program &program, const Options &options, Ranks &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAINER_H

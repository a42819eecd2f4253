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

/// Trains and validates epoch by epoch. Throws Error and DivergedError; with one rank, the
/// parameters are then those after the last complete step.
class Trainer {
public:
  /// `defaults` are used for settings given neither by options nor by a checkpoint. `earlier` is
  /// the number of optimizer updates before the run. Session, options and ranks must outlive the
  /// trainer.
  Trainer(Session &session, const Options &options, Ranks &ranks, TrainingData data,
          TrainSettings defaults, int64_t earlier = 0)
      : log(options.log),
        training(session, options, ranks, std::move(data), std::move(defaults), earlier),
        files(training, log), source(training), updates(training, source) {}

  RunEnd run(TrainingObserver &observer);
  /// Runs steps with increasing learning rates, and prints their losses and a suggested rate. Saves
  /// nothing.
  RunEnd searchRate(TrainingObserver &observer);

  int64_t epochCount() const { return training.epochs; }
  /// Batches per epoch; 0 if only the stream knows.
  int64_t batchCount() const { return training.batchesPerEpoch; }
  const TrainState &current() const { return training.state; }
  bool hasLostFiles() const { return files.hasLost(); }
  /// Replaces the session's parameters by the averaged weights, if there are any.
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
  /// The observer requests no more epochs.
  bool isEnough = false;
};

/// Runs the command `train` on all ranks. Rank 0 shows progress and writes files. Returns the exit
/// status: 0; 1 if the checkpoint or the log could not be written, which has been reported; or 128
/// + the signal that interrupted the run.
int train(const Program &program, const Options &options, Ranks &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAINER_H

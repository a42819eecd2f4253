//===- RunFiles.h - The files that a training run writes ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H
#define BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H

#include "Training/Metrics.h"
#include "Training/TrainingRun.h"

namespace bppsa::runtime {

/// Checkpoints, the log and saved models. Training goes on if the first two cannot be written.
class RunFiles {
public:
  RunFiles(TrainingRun &run, MetricsLog &log);

  void saveCheckpoint();
  void addToLog();
  /// Saves the model as the best one so far.
  void saveBest();
  /// The file of --save. Throws Error if it cannot be written.
  void saveModel(const std::string &path);
  /// Keeps the state of a run that is interrupted, and says how to go on.
  void saveInterrupted();
  /// The file of --trace, by all ranks.
  void writeTraces();

  /// What a failed run leaves.
  std::string describeKept() const;
  /// Whether a file could not be written the last time.
  bool hasLost() const { return checkpointFailed || logFailed || bestFailed; }

private:
  std::string position() const;
  void writeState();
  void attempt(bool &failed, const std::function<void()> &write);

  TrainingRun &run;
  MetricsLog &log;
  /// The position of the state in the file of --checkpoint; empty if that is not of this run.
  std::string kept;
  bool checkpointFailed = false, logFailed = false, bestFailed = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H

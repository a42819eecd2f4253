//===- RunFiles.h - Output files of a training run ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H
#define BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H

#include "Training/Metrics.h"
#include "Training/TrainingRun.h"

namespace bppsa::runtime {

/// Writes checkpoints, log and saved models. Training continues if checkpoints or the log cannot be
/// written.
class RunFiles {
public:
  RunFiles(TrainingRun &run, MetricsLog &log);

  void saveCheckpoint();
  void addToLog();
  void saveBest();
  void saveModel(const std::string &path);
  /// Also prints how to resume.
  void saveInterrupted();
  /// Writes the file of --trace. Collective.
  void writeTraces();

  std::string describeKept() const;
  bool hasLost() const { return checkpointFailed || logFailed || bestFailed; }

private:
  std::string position() const;
  void writeState();
  void attempt(bool &failed, const std::function<void()> &write);

  TrainingRun &run;
  MetricsLog &log;
  /// The position in the file of --checkpoint; empty if that is not of this run.
  std::string kept;
  bool checkpointFailed = false, logFailed = false, bestFailed = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_RUNFILES_H

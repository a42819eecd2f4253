//===- Checkpoint.h - Checkpoints of a training run -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H
#define BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H

#include "bppsa/Runtime/Session.h"
#include "bppsa/Runtime/Training/RateRules.h"

namespace bppsa::runtime {

/// The settings that, together with the data, determine a training run.
struct TrainSettings {
  int64_t batch = 32;
  uint64_t seed = 0;
  bool shuffle = true;
  /// Bytes of the data set kept in memory and shuffled together.
  int64_t shuffleMemory = Dataset::defaultMemory;
  /// lr, weight_decay and the hyperparameters of the optimizer, by name.
  std::map<std::string, double> hyper;
  std::string schedule = "constant";
  /// Learning rates of individual parameters. The last matching rule applies.
  std::vector<RateRule> rateRules;
  /// The decay of the weight average; nothing if no average is kept.
  std::optional<double> ema;
  std::optional<double> clipNorm;
  bool checkNaN = false;
  /// Batches per update.
  int64_t accumulate = 1;
  /// As a share of the samples.
  std::optional<double> valSplit;
  /// The number of epochs without improvement after which training stops.
  std::optional<int64_t> patience;
  /// The criterion for the best epoch: `loss` or `accuracy`.
  std::string best = "loss";
  /// Time steps per segment; nothing if sequences are not cut.
  std::optional<int64_t> tbptt;
  /// The name of the variant that computes the gradients; empty if not chosen yet.
  std::string variant;
};

/// Values that were not computed are empty.
struct LossRecord {
  std::string output;
  std::optional<double> loss, valLoss, valAccuracy;
};

struct EpochRecord {
  int64_t epoch = 0;
  double loss = 0;
  std::optional<double> valLoss, valAccuracy;
  /// Only set if there are several losses.
  std::vector<LossRecord> losses;
  /// Total time, and the part of it spent waiting for samples.
  double seconds = 0, loadSeconds = 0;
  /// Of the last step.
  double rate = 0;
  std::string variant;
};

/// The position of a training run. Together with the parameters, optimizer states, settings and
/// data, it determines the rest of the run.
struct TrainState {
  /// Completed epochs, completed batches of the current epoch, and completed steps of the run.
  int64_t epoch = 0, batch = 0, step = 0;
  /// Optimizer updates before the run.
  int64_t earlier = 0;
  /// Of the current epoch.
  LossSums losses;
  /// Time spent in the current epoch, and the part of it spent waiting for samples.
  double seconds = 0, loadSeconds = 0;
  std::vector<EpochRecord> history;
  /// The best validation result so far, and its epoch.
  std::optional<double> best;
  int64_t bestEpoch = 0;
  /// Updates included in the averaged weights.
  int64_t averaged = 0;
  /// Identifies the data set of the run.
  int64_t samples = 0;
  uint32_t fingerprint = 0;
};

/// Atomically writes an .npz archive. The array `checkpoint` holds settings and state as JSON. For
/// every trained parameter follow its values and optimizer states. Every array has a checksum.
void writeCheckpoint(const std::string &path, const Session &session, const TrainSettings &settings,
                     const TrainState &state);

/// Reads a file of writeCheckpoint(). Throws Error, without changing the session's values, if the
/// file is damaged or belongs to another program.
void readCheckpoint(const std::string &path, Session &session, TrainSettings &settings,
                    TrainState &state);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H

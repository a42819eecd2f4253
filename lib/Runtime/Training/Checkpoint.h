//===- Checkpoint.h - Interrupted training --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H
#define BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H

#include "bppsa/Runtime/Session.h"
#include "bppsa/Runtime/Training/RateRules.h"

namespace bppsa::runtime {

/// What decides the course of a training run, besides the data.
struct TrainSettings {
  int64_t batch = 32;
  uint64_t seed = 0;
  bool shuffle = true;
  /// Bytes of a set that are held, and shuffled, together.
  int64_t shuffleMemory = Dataset::defaultMemory;
  /// lr, weight_decay and those of the optimizer, by name.
  std::map<std::string, double> hyper;
  std::string schedule = "constant";
  /// Learning rates of their own: that of a parameter is the last one whose pattern matches.
  std::vector<RateRule> rateRules;
  /// The share of the averaged weights that stays in an update; nothing: no average is kept.
  std::optional<double> ema;
  std::optional<double> clipNorm;
  bool checkNaN = false;
  /// Batches of an update.
  int64_t accumulate = 1;
  /// Share of the samples that validate.
  std::optional<double> valSplit;
  /// Epochs without a better one before training stops.
  std::optional<int64_t> patience;
  /// What makes an epoch the best one: `loss` or `accuracy`.
  std::string best = "loss";
  /// Steps of a segment; nothing: sequences are not cut.
  std::optional<int64_t> tbptt;
  /// Name of the variant that computes the gradients; empty: not chosen yet.
  std::string variant;
};

/// A loss of several in a finished epoch. What was not computed is empty.
struct LossRecord {
  std::string output;
  std::optional<double> loss, valLoss, valAccuracy;
};

/// One finished epoch.
struct EpochRecord {
  int64_t epoch = 0;
  double loss = 0;
  std::optional<double> valLoss, valAccuracy;
  /// Where there are several.
  std::vector<LossRecord> losses;
  /// In all, and until batches were filled with their samples.
  double seconds = 0, loadSeconds = 0;
  /// Of the last step.
  double rate = 0;
  std::string variant;
};

/// Where a training run stands. Together with the parameters, the optimizer states, the settings
/// and the data it decides everything that follows.
struct TrainState {
  /// Finished epochs, finished batches of the current one, finished steps in all.
  int64_t epoch = 0, batch = 0, step = 0;
  /// Updates of the optimizer before the run.
  int64_t earlier = 0;
  /// Of this epoch's batches.
  LossSums losses;
  /// Time spent in this epoch, and until its batches were filled with their samples.
  double seconds = 0, loadSeconds = 0;
  std::vector<EpochRecord> history;
  /// The best value so far of what is validated, and its epoch.
  std::optional<double> best;
  int64_t bestEpoch = 0;
  /// Updates that the averaged weights know of.
  int64_t averaged = 0;
  /// The data set the run works on.
  int64_t samples = 0;
  uint32_t fingerprint = 0;
};

/// Writes everything into one file, which appears whole or not at all. It is an .npz archive: the
/// array `checkpoint` holds the settings and the state as JSON text; then come, for every trained
/// parameter, its values and its optimizer states. Every array carries a checksum.
void writeCheckpoint(const std::string &path, const Session &session, const TrainSettings &settings,
                     const TrainState &state);

/// Reads what writeCheckpoint() wrote. Throws Error when the file is damaged or belongs to another
/// program; the session is changed only when everything is right.
void readCheckpoint(const std::string &path, Session &session, TrainSettings &settings,
                    TrainState &state);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H

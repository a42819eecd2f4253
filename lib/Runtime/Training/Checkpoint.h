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

struct TrainSettings {
  int64_t batch = 32;
  uint64_t seed = 0;
  bool shuffle = true;
  /// Bytes kept in memory and shuffled together.
  int64_t shuffleMemory = Dataset::defaultMemory;
  std::map<std::string, double> hyper;
  std::string schedule = "constant";
  /// The last matching rule applies.
  std::vector<RateRule> rateRules;
  std::optional<double> ema;
  std::optional<double> clipNorm;
  bool checkNaN = false;
  int64_t accumulate = 1;
  /// The share of samples used for validation.
  std::optional<double> valSplit;
  /// Epochs without improvement before stopping.
  std::optional<int64_t> patience;
  std::string best = "loss";
  /// Time steps per segment, if sequences are cut.
  std::optional<int64_t> tbptt;
  std::string variant;
};

struct LossRecord {
  std::string output;
  std::optional<double> loss, valLoss, valAccuracy;
};

struct EpochRecord {
  int64_t epoch = 0;
  double loss = 0;
  std::optional<double> valLoss, valAccuracy;
  std::vector<LossRecord> losses;
  /// The total time, and the time spent waiting for samples.
  double seconds = 0, loadSeconds = 0;
  double rate = 0;
  std::string variant;
};

/// The position of a run. With parameters, states, settings and data, it determines the rest.
struct TrainState {
  int64_t epoch = 0, batch = 0, step = 0;
  int64_t earlier = 0;
  LossSums losses;
  /// The total time of the current epoch, and the time spent waiting for samples.
  double seconds = 0, loadSeconds = 0;
  std::vector<EpochRecord> history;
  std::optional<double> best;
  int64_t bestEpoch = 0;
  int64_t averaged = 0;
  int64_t samples = 0;
  uint32_t fingerprint = 0;
};

/// Atomically writes an .npz archive: settings and state as JSON in `checkpoint`, values and
/// optimizer states of each parameter.
void writeCheckpoint(const std::string &path, const Session &session, const TrainSettings &settings,
                     const TrainState &state);

/// Throws Error, without changing the session, if the file is damaged or belongs to another
/// program.
void readCheckpoint(const std::string &path, Session &session, TrainSettings &settings,
                    TrainState &state);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_CHECKPOINT_H

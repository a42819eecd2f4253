//===- TrainingRun.h - Settings, data and state of a training run ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_TRAININGRUN_H
#define BPPSA_LIB_RUNTIME_TRAINING_TRAININGRUN_H

#include "Training/BatchStream.h"
#include "Training/Checkpoint.h"
#include "Training/Schedule.h"
#include "Training/TrainingObserver.h"
#include "Updates/DeferredUpdate.h"
#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// The data of a run: a set or a stream to train on, and optionally one of them to validate.
struct TrainingData {
  std::optional<Dataset> set, validationSet;
  /// `set` with all steps, if `set` has a share of them and its samples validate.
  std::optional<Dataset> wholeSet;
  BatchStream *stream = nullptr, *validationStream = nullptr;

  /// Reads training and validation samples, unless empty, from paths or arrays. Of the steps of
  /// training sequences it reads only `share`.
  template <typename Source>
  void read(const Source &train, const Source &validation, const Model &model,
            const Options &options, TimeShare share = {}) {
    int64_t memory = options.shuffleMemory.value_or(Dataset::defaultMemory);
    if (!train.empty())
      set.emplace(train, model, TargetUse::Needed, memory, share);
    if (!validation.empty())
      validationSet.emplace(validation, model, TargetUse::Needed, memory);
  }
};

/// What the parts of a training run share. The constructor takes the settings from a checkpoint and
/// the options, and throws Error if they do not fit the program, the data or the ranks.
class TrainingRun {
public:
  TrainingRun(Session &session, const Options &options, Ranks &ranks, TrainingData data,
              TrainSettings defaults, int64_t earlier);

  Session &session;
  const Program &program;
  const Model &model;
  const Options &options;
  Ranks &ranks;
  TrainingData data;
  /// Numbers of the training samples, and of the validation samples in validationData().
  std::vector<int64_t> trained, validated;
  TrainSettings settings;
  TrainState state;
  Schedule schedule{"constant"};
  /// Replaces the rate of the schedule.
  std::optional<double> searchedRate;
  /// The factor of a plateau schedule in this epoch.
  double plateauScale = 1;
  /// Batches are 0 if only the stream knows their number.
  int64_t epochs, batchesPerEpoch = 1;
  TrainingObserver *observer = nullptr;
  /// Whether the observer of another rank ends the run.
  bool isInterrupted = false;

  // How ranks divide the work.
  /// Whether each rank computes stages of all batches.
  bool isPipelined() const { return model.pipelineRanks > 0 && !ranks.isAlone(); }
  /// Whether each rank computes a share of the steps of all samples.
  bool sharesTime() const { return options.shardTime && !ranks.isAlone(); }
  /// Whether ranks without a sample run the step too, because all exchange statistics.
  bool stepsTogether() const { return model.sharesStatistics && !ranks.isAlone(); }
  /// The samples of a batch of `size` that this rank computes.
  Share ownShare(int64_t size) const;

  // Sizes in samples. `first` is the number of a sample within the epoch.
  int64_t updateSize() const { return settings.batch * settings.accumulate; }
  int64_t sizeOfUpdate(int64_t number) const;
  int64_t sizeOfBatch(int64_t first) const;
  /// Of this rank: a full batch and the rest of an epoch, and the largest batch, at least 1.
  std::vector<int64_t> stepSizes() const;
  int64_t capacity() const { return std::max<int64_t>(stepSizes().front(), 1); }
  int64_t countMicrobatches() const;
  /// 1, or the number of segments of a sequence.
  int64_t updatesPerBatch() const;

  const Dataset &validationData() const;
  bool validates() const { return !validated.empty() || data.validationStream; }

  // The next step.
  /// "epoch 1, batch 2 (step 3)"
  std::string stepName() const;
  /// The learning rate at `step` from the base rate `base`, or from --lr.
  float rateAt(int64_t step, double base) const;
  float rateAt(int64_t step) const;
  void setHyper();
  /// Counts an update. Returns the function that averages its parameters for --ema.
  AfterUpdate startAveraging();
  void drawSeed(int64_t number);
  void requireFiniteLoss() const;
  /// Throws Error if no position of the batch or update has a weight.
  void requireCounted(const std::vector<double> &weights) const;
  bool isStopping() const { return ranks.isAlone() ? observer->isInterrupted() : isInterrupted; }

private:
  void resume();
  void requireSame() const;
  void requireSense() const;
  void applyOptions();
  void takeStartSettings();
  void requireFits() const;
  void cutBatches(int64_t parts);
  void splitSamples();
  void requireBatches();
  void requireStreamable() const;
  void checkOutputs() const;
  void requireShares() const;
  void requireStages() const;
  void requireTimeShares() const;
  void requireShardScans() const;
};

inline bool isAnyCounted(const std::vector<double> &weights) {
  return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 0; });
}

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGRUN_H

//===- TrainingRun.h - Settings, data and state of a training run ---------===//
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

struct TrainingData {
  std::optional<Dataset> set, validationSet;
  /// Holds all time steps if `set` is a time shard that is also used for validation.
  std::optional<Dataset> wholeSet;
  BatchStream *stream = nullptr, *validationStream = nullptr;

  /// Opens paths or arrays. Training sequences are restricted to `share`.
  template <typename Source>
  void read(const Source &train, const Source &validation, const Model &model,
            const Options &options, TimeShardSpec share = {}) {
    int64_t memory = options.shuffleMemory.value_or(Dataset::defaultMemory);
    if (!train.empty())
      set.emplace(train, model, TargetUse::Needed, memory, share);
    if (!validation.empty())
      validationSet.emplace(validation, model, TargetUse::Needed, memory);
  }
};

/// Shared state of a run. The constructor throws Error if checkpoint and options do not match
/// program, data or ranks.
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
  /// Sample indices; `validated` refers to validationData().
  std::vector<int64_t> trained, validated;
  TrainSettings settings;
  TrainState state;
  Schedule schedule{"constant"};
  std::optional<double> searchedRate;
  double plateauScale = 1;
  /// batchesPerEpoch is 0 if only the stream knows it.
  int64_t epochs, batchesPerEpoch = 1;
  TrainingObserver *observer = nullptr;
  /// The observer of another rank ends the run.
  bool isInterrupted = false;

  bool isPipelined() const { return model.pipelineRanks > 0 && !ranks.isAlone(); }
  bool hasTimeShards() const { return options.shardTime && !ranks.isAlone(); }
  /// Ranks without samples also run the step, to exchange batch statistics.
  bool allRanksStep() const { return model.sharesStatistics && !ranks.isAlone(); }
  Share ownShare(int64_t size) const;

  int64_t updateSize() const { return settings.batch * settings.accumulate; }
  int64_t sizeOfUpdate(int64_t number) const;
  int64_t sizeOfBatch(int64_t first) const;
  /// Returns this rank's sizes for a full batch and for the remainder of an epoch. capacity() is at
  /// least 1.
  std::vector<int64_t> stepSizes() const;
  int64_t capacity() const { return std::max<int64_t>(stepSizes().front(), 1); }
  int64_t countMicrobatches() const;
  int64_t updatesPerBatch() const;

  const Dataset &validationData() const;
  bool validates() const { return !validated.empty() || data.validationStream; }

  /// "epoch 1, batch 2 (step 3)"
  std::string stepName() const;
  float rateAt(int64_t step, double base) const;
  float rateAt(int64_t step) const;
  void setHyper();
  /// Counts an update. Returns the averaging function for --ema.
  AfterUpdate startAveraging();
  void drawSeed(int64_t number);
  void requireFiniteLoss() const;
  void requireCounted(const std::vector<double> &weights) const;
  bool isStopping() const { return ranks.isAlone() ? observer->isInterrupted() : isInterrupted; }

private:
  void resume();
  void requireSame() const;
  void requireSameData() const;
  void requireConsistent() const;
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

inline bool hasWeight(const std::vector<double> &weights) {
  return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 0; });
}

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_TRAININGRUN_H

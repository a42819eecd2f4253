//===- Trainer.h - The training loop --------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_TRAINER_H
#define BPPSA_RUNTIME_TRAINING_TRAINER_H

#include "Updates/CarriedUpdate.h"
#include "Updates/ExchangedUpdate.h"
#include "bppsa/Runtime/Distributed/RankSamples.h"
#include "bppsa/Runtime/Files/BatchLoader.h"
#include "bppsa/Runtime/Options.h"
#include "bppsa/Runtime/Training/BatchStream.h"
#include "bppsa/Runtime/Training/Checkpoint.h"
#include "bppsa/Runtime/Training/Metrics.h"
#include "bppsa/Runtime/Training/Schedule.h"
#include "bppsa/Runtime/Training/Segments.h"
#include "bppsa/Runtime/Training/TrainingObserver.h"
#include "bppsa/Runtime/Training/TrainingSteps.h"
#include "bppsa/Runtime/Updates/PipelinedUpdate.h"
#include "bppsa/Runtime/Updates/TimeShard.h"

#include <deque>
#include <functional>
#include <memory>

namespace bppsa::runtime {

/// What a run trains with and on: a set or a stream, and either, or nothing, to validate with.
struct TrainingData {
  std::optional<Dataset> set, validationSet;
  /// That of `set` with all steps, where that has a share of them and samples validate.
  std::optional<Dataset> wholeSet;
  BatchStream *stream = nullptr, *validationStream = nullptr;

  /// Reads samples to train and to validate on, each where it is not empty: the paths of files, or
  /// arrays. Of the steps of sequences to train on only `share`.
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

/// How a run ended: as planned, or because its observer wanted it to.
enum class RunEnd { Done, Interrupted };

/// A training run, whose settings and state a checkpoint keeps. Throws Error and DivergedError;
/// parameters are those after the last whole step then, where there is one rank.
class Trainer {
public:
  /// `defaults` hold where neither options nor a checkpoint say else; `earlier` updates of the
  /// optimizer came before the run. Options, session and ranks must outlive it.
  Trainer(Session &session, const Options &options, Ranks &ranks, TrainingData data,
          TrainSettings defaults, int64_t earlier = 0);

  RunEnd run(TrainingObserver &observer);
  /// Runs steps with rising rates, prints their losses and a rate that they suggest; nothing is
  /// saved.
  RunEnd searchRate(TrainingObserver &observer);

  int64_t epochCount() const { return epochs; }
  /// Batches of an epoch; 0 where only the stream knows.
  int64_t batchCount() const { return batchesPerEpoch; }
  const TrainState &current() const { return state; }
  /// Whether the checkpoint, the log or the best model could not be written the last time.
  bool hasLostFiles() const { return checkpointFailed || logFailed || bestFailed; }
  /// Makes the averaged weights, where there are some, those of the session.
  void takeAverage();

private:
  void checkOutputs();
  /// Throws Error where the data cannot be cut into batches.
  void requireBatches();
  void requireStreamable() const;
  /// Says which samples train and which validate.
  void splitSamples();
  void resume();
  void requireSame() const;
  void requireSense() const;
  void applyOptions();
  /// Makes each batch `parts` batches of one update.
  void cutBatches(int64_t parts);
  void prepareSteps();
  /// The variant that the first rank chooses.
  std::string chooseForAll();

  /// Puts the samples of this epoch in their order.
  void orderSamples();
  /// Skips the batches of a stream that came before a checkpoint.
  void skipBatches();
  /// Whether the epoch has another batch, or update of several; takes the first one of a stream.
  bool findBatch();
  /// Takes the next batch of the stream; returns false where the epoch has no more.
  bool takeGiven();
  /// Puts the next batch of an update, that of this number, in place; returns false where it has no
  /// more.
  bool takePart(int64_t number);
  /// Throws Error unless the losses of a batch with these weights count as those of the first batch
  /// of the update do to each other.
  void requireProportional(const std::vector<double> &weights,
                           const std::vector<double> &first) const;
  /// Both return false where the observer or the stream ends the run.
  bool runEpoch();
  bool tryEpoch();
  /// Samples of an update, and of that of this number in an epoch.
  int64_t updateSize() const { return settings.batch * settings.accumulate; }
  int64_t sizeOfBatch(int64_t number) const;
  /// The microbatches of the update that comes next.
  int64_t countMicrobatches() const;
  int64_t trainedCount() const { return static_cast<int64_t>(trained.size()); }
  /// Samples of the batch that begins with the sample of number `first` of an epoch.
  int64_t sizeAt(int64_t first) const;
  /// Fills the batch with the share of this rank in the batch that begins with the sample of number
  /// `first` of the epoch; batches are filled one after the other.
  void fill(int64_t first, Batch &batch);
  void runBatch();
  /// The step on the batch of the stream.
  void runGiven();
  /// Adds up the gradients of the batches of an update, by what their losses count.
  void runAccumulated();
  /// Steps and updates on the segments of the batch, one after the other.
  void runSegments();
  /// 1, or the number of segments of a sequence.
  int64_t updatesPerBatch() const;
  bool finishEpoch();
  /// The set that `validated` are samples of.
  const Dataset &validationData() const {
    return data.validationSet ? *data.validationSet : data.wholeSet ? *data.wholeSet : *data.set;
  }
  /// Whether there is something to validate with.
  bool validates() const { return !validated.empty() || data.validationStream; }
  /// Evaluates on it; nothing where the observer asks to stop.
  std::optional<Evaluation> evaluateAll();
  bool validate(EpochRecord &record);
  /// Notes whether the epoch of `record` is the best one so far, and saves the model then.
  void noteBest(const EpochRecord &record);
  bool isPatienceOver() const;
  /// What the losses of the samples in the batch count.
  std::vector<double> ownWeights() const;
  /// Throws Error where no position of the batch or update counts.
  void requireCounted(const std::vector<double> &weights) const;
  /// The seed of step `number` of this rank.
  void drawSeed(int64_t number);
  /// Starts the step on what is in the batch, as TrainingSteps does; arguments as for compute().
  std::string startStep(double weight, bool gives);
  /// What follows from the gradients and losses in the session.
  void finishStep();
  /// The end of an update: of a batch whose losses count `weights`, or of several, whose gradients
  /// add up to `sums`. Both are combined with those of other ranks.
  void finishBatch(std::vector<double> &weights);
  void finishBatch(const std::vector<double> &sums, LossSums &losses);
  void setHyper();
  /// The rate of step `step` that the schedule makes of the base rate `base`, or of --lr.
  float rateAt(int64_t step, double base) const;
  float rateAt(int64_t step) const;
  /// "epoch 1, batch 2 (step 3)"
  std::string stepName() const;
  void requireFiniteLoss() const;
  /// The optimizer's step, and what follows from new weights.
  void update();
  /// Counts an update, and gives what follows each of its parts, a range of the flat arrays: the
  /// averages of --ema.
  AfterUpdate startAveraging();
  /// Adds the mean losses of the last step, each of which counts as `weights` say, or those of
  /// `sums` to those of the epoch.
  void addLosses(const std::vector<double> &weights);
  void addLosses(const LossSums &sums);
  void checkStep();

  // TrainerPipeline.cpp
  /// Whether each rank computes a stage of all batches, and not a share of them.
  bool isPipelined() const { return model.pipelineRanks > 0 && !ranks.isAlone(); }
  /// Throws Error where the ranks cannot be the stages of a pipeline.
  void requireStages() const;
  void preparePipeline();
  /// Computes the batches of an update as microbatches.
  void runPipelined();
  void updatePipelined();
  /// Updates before the norm of all gradients is known, as if that needed no clipping.
  void updateAhead();
  /// Takes over the outcome of such an update, and makes it again where its gradients have to be
  /// clipped. Returns whether it was right.
  bool validateUpdate();
  /// Takes over the losses and the norm of the last update, which other ranks have told meanwhile.
  void takeOutcome();
  /// Scales the gradients by the norm of all ranks.
  void clipStages();

  // TrainerCarried.cpp
  /// Where the program leaves gradients to the next step, and nothing waits for all of them.
  void prepareCarried();
  /// Whether the next batch leaves gradients to the one behind it; where it checks the variant
  /// instead, nothing is left when this returns.
  bool beginCarried();
  /// What runBatch() does then.
  void runCarried();

  // TrainerModules.cpp
  /// Gives this rank the module of its number.
  void prepareModules();
  /// Checks loss and gradients of the module and updates it.
  void updateModule();
  /// Tells the other ranks the mean loss of the module over a step, and what it counts.
  void report(double loss, double weight);
  /// Adds losses that were told to those of the epoch until at most so many steps are left.
  void takeReports(size_t most);

  // TrainerRanks.cpp
  void prepareExchange();
  /// Runs `step`, a compiled step on samples that count `weight`. On several ranks its gradients
  /// are handed over meanwhile where it `gives` them.
  void compute(double weight, bool gives, const std::function<void()> &step);
  /// Whether all ranks run all steps, also those in which they have no sample that counts: their
  /// statistics are those of all samples.
  bool stepsTogether() const { return model.sharesStatistics && !ranks.isAlone(); }
  /// What samples of which this rank's count `weight` count on all ranks that run the step
  /// together.
  double countTogether(double weight);
  /// Makes the running statistics those of the first rank.
  void takeStatistics();
  /// What finishStep() does on several ranks: the update may be made later.
  void deferUpdate();
  /// Makes it where it has not been made: before parameters are looked at.
  void settle();
  LossSums combine(const LossSums &own, double scale);
  /// Makes the gradients and losses of this rank's step, which count as `weights` say, those of all
  /// ranks, and `weights` what these count.
  void combineStep(std::vector<double> &weights);
  /// The same of gradients and losses that were multiplied by what they count and added up.
  void combineSums(const std::vector<double> &sums, LossSums &losses);
  /// Throws Error where the ranks cannot compute a batch together.
  void requireShares() const;
  /// Whether ranks have shares of the steps, and all samples.
  bool sharesTime() const { return options.shardTime && !ranks.isAlone(); }
  /// Which of the `size` samples of a batch this rank computes; stages of a pipeline see all.
  Share ownShare(int64_t size) const;
  /// The samples that this rank computes of a full batch, and of the rest of an epoch.
  std::vector<int64_t> stepSizes() const;
  /// The most samples that this rank computes at a time, or 1.
  int64_t capacity() const;
  /// Whether the run is to end here, on all ranks after the same step.
  bool isStopping();
  void writeTraces();

  // TrainerTime.cpp
  /// Throws Error where the ranks cannot have shares of the steps.
  void requireTimeShares() const;
  void requireShardScans() const;
  /// Prepares for the shares of ranks in the steps, which the set has.
  void cutTime();
  /// Whether cotangents are scanned over the ranks.
  bool choosesShardScans() const;
  /// What the losses of this rank's steps of `batch` count.
  std::vector<double> shareWeights(const Batch &batch) const;
  /// What runBatch() does then, on the steps of this rank.
  void runTimeShare();
  /// The same of the batches of an update, which go through the ranks one after the other.
  void runSharedMicrobatches();
  /// What the names of functions that compute steps begin with.
  std::string stepKind() const;
  /// The function that computes a step.
  std::string stepFunction() const;

  /// Says that the checks of the variant ended with another one; empty: they did not.
  void noteChange(const std::string &change);
  std::string position() const;
  std::string describeKept() const;
  void saveCheckpoint();
  void attempt(bool &failed, const std::function<void()> &write);
  void interrupted();

  Session &session;
  const Program &program;
  const Model &model;
  const Options &options;
  Ranks &ranks;
  TrainingData data;
  /// The samples of the set that train, and those that validate of it or of the other one.
  std::vector<int64_t> trained, validated;
  TrainSettings settings;
  TrainState state;
  MetricsLog log;
  Schedule schedule{"constant"};
  /// In place of that of the schedule.
  std::optional<double> searchedRate;
  /// That of the losses of the epochs before this one.
  double plateauScale = 1;
  int64_t epochs, batchesPerEpoch = 1;
  Microbatch wholeStep;
  Batch &batch = wholeStep.batch;
  /// How many samples of this rank are in `batch`, and how many all ranks have.
  int64_t ownSize = 0, allSize = 0;
  /// The samples of this epoch, and the number of the batch that `batch` was filled with ahead of
  /// its time.
  RankSamples samples;
  std::unique_ptr<BatchLoader> loader;
  std::optional<int64_t> filledAhead;
  /// The batch of the stream.
  const Batch *given = nullptr;
  /// Of all batches of the stream in the update.
  int64_t givenSamples = 0;
  /// Whether the epoch of the stream has no more; to ask again begins the next one.
  bool hasStreamEnded = false;
  std::unique_ptr<TrainingSteps> steps;
  /// Where there are several ranks; and what the samples of all of them counted in the last step.
  std::unique_ptr<ExchangedUpdate> exchange;
  std::unique_ptr<PipelinedUpdate> pipeline;
  std::unique_ptr<CarriedUpdate> carried;
  /// Where the stages of the pipeline are interlocked modules.
  std::unique_ptr<StepRun> modules;
  std::unique_ptr<StageMail> mail;
  /// What modules have told of their steps, as far as it has not been taken.
  std::deque<std::shared_ptr<Ranks::Gathering>> reports;
  /// The step of the last update of the pipeline, and the squares of its gradients.
  std::string outcomeOf;
  double normSquares = 0;
  /// Whether the last norm was too large, and what follows an update that may be taken back.
  bool wasClipped = false;
  AfterUpdate averageOfUpdate;
  double divisor = 1;
  /// The observer of some rank wants the run to end.
  bool isInterrupted = false;
  /// Where sequences are cut.
  std::unique_ptr<Segments> segments;
  /// How many ranks have shares of the steps, 0 where they have shares of the samples; and what
  /// they exchange of streams, and of other models.
  int64_t timeShares = 0;
  bool scansShards = false;
  std::unique_ptr<TimeShard> timeShard;
  std::unique_ptr<ShardMessages> shardMessages;
  struct SharedMicrobatch {
    Microbatch data;
    std::unique_ptr<StepRun> call;
  };
  std::vector<std::unique_ptr<SharedMicrobatch>> sharedMicrobatches;
  TrainingObserver *observer = nullptr;
  /// Where training stood when the file of --checkpoint was written; empty: it is not of this run.
  std::string kept;
  /// The observer wants no more epochs.
  bool isEnough = false;
  /// The last attempt to write the file failed.
  bool checkpointFailed = false, logFailed = false, bestFailed = false;
};

/// Runs the command `train` on all ranks, of which the first one shows and writes. Returns the exit
/// status: 0; 1 where the checkpoint or the log could not be written, which has been said; or 128 +
/// the signal that interrupted it.
int train(const Program &program, const Options &options, Ranks &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_TRAINER_H

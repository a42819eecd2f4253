//===- UpdateExecutor.h - Performs the actions of updates -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H
#define BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H

#include "Training/BatchSource.h"
#include "Training/Segments.h"
#include "Training/TrainingSteps.h"
#include "Updates/CarriedUpdate.h"
#include "Updates/ExchangedUpdate.h"
#include "Updates/PipelineTimes.h"
#include "Updates/StageOrders.h"
#include "Updates/StageUpdate.h"
#include "Updates/StepRun.h"
#include "Updates/TimeShard.h"

#include <deque>
#include <functional>
#include <memory>
#include <set>

namespace bppsa::runtime {

/// An action of an update. Two things are not actions of their own, because they happen inside a
/// compiled step, between its operations: messages of stages and time shards, which the step sends
/// and receives through its ports, and updates that wait until the step needs the parameter
/// (DeferredUpdate).
struct Action {
  enum class Kind {
    /// Computes a whole step on the microbatch.
    Step,
    /// Runs the part `part` of a step that pauses.
    Part,
    /// Waits for the outcome of the last update. If it is taken back, the actions before this one
    /// are repeated.
    Validate,
    /// Combines gradients and losses of the microbatches, and of all ranks.
    Combine,
    /// Updates the parameters, or lets updates follow where steps need them.
    Update
  };
  Kind kind;
  schedule::PipelineOp part = {schedule::OpKind::F, 0, 0};
};
using UpdatePlan = std::vector<Action>;

/// Computes steps on the batches of a run and updates the parameters: plans the actions of a batch
/// and performs them in one loop. All ranks make the same calls.
class UpdateExecutor {
public:
  /// Chooses the variant of the program and prepares its calls.
  UpdateExecutor(TrainingRun &run, BatchSource &source);

  /// The samples begin again.
  void beginEpoch() { filledAhead.reset(); }
  /// Makes the update of the next batch, or those of its segments.
  void runBatch();
  /// Completes the last update on all ranks, before parameters are read.
  void settle();

private:
  // UpdatePreparation.cpp
  void prepareSteps();
  void cutTime();
  bool choosesShardScans() const;
  std::string chooseForAll();
  void prepareUpdates();
  void prepareCarried();
  std::string stepKind() const;
  std::string stepFunction() const { return stepKind() + "." + settings.variant; }

  // UpdateExecutor.cpp
  UpdatePlan makePlan();
  void planStages(UpdatePlan &plan, int64_t count);
  bool beginCarried();
  void execute(const UpdatePlan &plan);
  void perform(const Action &action);
  bool isTrialKept(const UpdatePlan &plan, size_t end);
  void expectMessages(const UpdatePlan &plan, size_t position);
  void note(int64_t count);
  std::vector<FlatRange> rangesOf(int stage) const;
  void addGradients(int stage, const float *gradients, double weight);
  void addResults(int stage, const Microbatch &microbatch);
  void takeSums(double divisor);

  // UpdateSteps.cpp
  /// A microbatch, its steps by the stages of this rank, and how many of these have not ended.
  struct Slot {
    Microbatch data;
    std::map<int, std::unique_ptr<StepRun>> steps;
    size_t open = 0;
  };
  void runStep(int64_t number);
  bool take(int64_t number);
  void requireProportional() const;
  bool isCounted();
  void compute(bool gives, const std::function<void()> &step);
  void startStep();
  void fillAhead();
  void runSegment(int64_t number);
  void runPart(schedule::PipelineOp op);
  void advance(schedule::PipelineOp op, Slot &slot);
  void runStagePart(schedule::PipelineOp op, Slot &slot);
  void runCarried();
  void runShareOfStream(schedule::OpKind kind);
  Slot &find(int64_t number);
  std::unique_ptr<Slot> makeSlot();
  void fill(int64_t number, Microbatch &microbatch);
  std::vector<double> weightsOf(const Batch &batch) const;
  std::string traceName(schedule::PipelineOp op) const;
  StageMail::Part mailPart(schedule::PipelineOp op, const Microbatch &microbatch) const {
    return {op.stage, op.kind, microbatch.batch.samples};
  }

  // UpdateEnd.cpp
  void combine();
  void combineStages();
  LossSums gatherLosses(const LossSums &own, double scale);
  void update();
  void finishStep();
  void checkStep();
  void updateModule();
  void addLosses(bool fromSums);
  void report(double loss, double weight);
  void takeReports(size_t most);

  /// Whether the batch has an update for each segment of its sequences.
  bool isSegmented() const { return segments && !timeShard; }
  /// Whether this rank has no time step.
  bool isIdle() const { return timeShares && ranks.rank() >= timeShares; }
  /// The factor of gradients of samples with `weight` in sums.
  double scaleOf(double weight) const { return exchange ? exchange->scaleOf(weight) : weight; }

  TrainingRun &run;
  BatchSource &source;
  Session &session;
  const Model &model;
  Ranks &ranks;
  TrainSettings &settings;
  TrainState &state;
  StageMail mail;

  /// The batch of whole steps, whose results are in the session, and their calls.
  Microbatch whole;
  std::unique_ptr<TrainingSteps> steps;
  std::unique_ptr<Segments> segments;
  /// The batch that `whole` was filled with ahead of its time.
  std::optional<int64_t> filledAhead;
  /// The module of this rank.
  std::unique_ptr<StepRun> module;
  /// Losses of modules over steps that other ranks have sent and this one has not taken.
  std::deque<std::shared_ptr<Ranks::Gathering>> reports;

  /// The number of ranks with time shards; 0 if ranks share samples. What they exchange in streams,
  /// and in other models.
  int64_t timeShares = 0;
  bool scansShards = false;
  std::unique_ptr<TimeShard> timeShard;
  std::unique_ptr<ShardMessages> shardMessages;

  std::unique_ptr<ExchangedUpdate> exchange;
  std::unique_ptr<CarriedUpdate> carried;
  std::unique_ptr<StageParameters> stages;
  std::unique_ptr<StageUpdate> stageUpdate;
  std::unique_ptr<StageOrders> orders;
  /// Until enough is measured.
  std::unique_ptr<PipelineTimes> times;

  /// Memory of microbatches, those that are free, and those of the update.
  std::vector<std::unique_ptr<Slot>> slots;
  std::vector<Slot *> freeSlots, used;
  /// The action whose messages are expected next.
  size_t numExpected = 0;

  // Of the update that is under way.
  /// Whether its step leaves gradients to the next one, and whether microbatches are added up.
  bool isCarried = false, isSummed = false;
  /// The weights of its samples in each loss.
  std::vector<double> weights;
  /// Sums of gradients in the flat layout, in double precision, and the stages that have some.
  Buffer gradientSums;
  std::set<int> begun;
  LossSums losses;
  /// The weight of the microbatches that this rank has filled, and of the samples of all ranks.
  double updateWeight = 0, divisor = 1;
  /// A line about another variant that a check has chosen.
  std::string change;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H

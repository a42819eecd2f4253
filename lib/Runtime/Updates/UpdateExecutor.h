//===- UpdateExecutor.h - Execute the actions of updates ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H
#define BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H

#include "Training/BatchSource.h"
#include "Training/Segments.h"
#include "Training/TrainingSteps.h"
#include "Updates/CrossStepUpdate.h"
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

/// Messages and deferred updates are not actions, because they happen inside compiled steps.
struct Action {
  enum class Kind {
    Step,
    Part,
    /// If the last update is rolled back, repeat the preceding actions.
    Validate,
    Combine,
    Update
  };
  Kind kind;
  schedule::PipelineOp part = {schedule::OpKind::F, 0, 0};
};
using UpdatePlan = std::vector<Action>;

/// Computes steps and updates parameters. Plans a batch as actions and executes them in one loop.
/// All ranks must make the same calls.
class UpdateExecutor {
public:
  UpdateExecutor(TrainingRun &run, BatchSource &source);

  void beginEpoch() { filledAhead.reset(); }
  void runBatch();
  /// Completes the last update on all ranks.
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

  bool isSegmented() const { return segments && !timeShard; }
  bool isIdle() const { return timeShares && ranks.rank() >= timeShares; }
  double scaleOf(double weight) const { return exchange ? exchange->scaleOf(weight) : weight; }

  TrainingRun &run;
  BatchSource &source;
  Session &session;
  const Model &model;
  Ranks &ranks;
  TrainSettings &settings;
  TrainState &state;
  StageMail mail;

  Microbatch whole;
  std::unique_ptr<TrainingSteps> steps;
  std::unique_ptr<Segments> segments;
  /// The batch that `whole` was filled with in advance.
  std::optional<int64_t> filledAhead;
  std::unique_ptr<StepRun> module;
  std::deque<std::shared_ptr<Ranks::Gathering>> reports;

  /// Ranks with time steps, 0 if ranks divide samples. `timeShard` is for streams, `shardMessages`
  /// for other models.
  int64_t timeShares = 0;
  bool scansShards = false;
  std::unique_ptr<TimeShard> timeShard;
  std::unique_ptr<ShardMessages> shardMessages;

  std::unique_ptr<ExchangedUpdate> exchange;
  std::unique_ptr<CrossStepUpdate> carried;
  std::unique_ptr<StageParameters> stages;
  std::unique_ptr<StageUpdate> stageUpdate;
  std::unique_ptr<StageOrders> orders;
  std::unique_ptr<PipelineTimes> times;

  std::vector<std::unique_ptr<Slot>> slots;
  std::vector<Slot *> freeSlots, used;
  size_t numExpected = 0;

  // State of the current update:
  bool isCarried = false, isSummed = false;
  std::vector<double> weights;
  Buffer gradientSums;
  std::set<int> begun;
  LossSums losses;
  double updateWeight = 0, divisor = 1;
  std::string change;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_UPDATEEXECUTOR_H

//===- UpdatePreparation.cpp - Prepare the variants and memory of updates -===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/UpdateExecutor.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

using namespace bppsa::runtime;

UpdateExecutor::UpdateExecutor(TrainingRun &run, BatchSource &source)
    : run(run), source(source), session(run.session), model(run.model), ranks(run.ranks),
      settings(run.settings), state(run.state), mail(ranks, model) {
  prepareSteps();
  prepareUpdates();
}

void UpdateExecutor::prepareSteps() {
  if (run.data.stream)
    return;
  const Dataset &set = *run.data.set;
  whole.batch = set.newBatch(run.capacity());
  if (settings.tbptt)
    segments = std::make_unique<Segments>(session, set, *settings.tbptt);
  else if (run.hasTimeShards())
    cutTime();
  else if (isDeviceProgram() && run.batchesPerEpoch > 1 && settings.accumulate == 1)
    whole.batch.keepSpares();
  steps = std::make_unique<TrainingSteps>(session, set, whole.batch, stepKind());
  // A resumed run keeps its variant for bit-identical results.
  if (settings.variant.empty() || !run.options.variant.isAuto())
    settings.variant = chooseForAll();
  if (!segments && !run.isPipelined() && steps->variant() != settings.variant)
    steps->use(settings.variant, run.stepSizes());
}

void UpdateExecutor::cutTime() {
  const Dataset &set = *run.data.set;
  timeShares = TimeShardSpec::filled(set.window().all, ranks.count());
  if (!model.isStream()) {
    scansShards = choosesShardScans();
    if (scansShards)
      ranks.prepareScans(static_cast<int>(timeShares));
    shardMessages = std::make_unique<ShardMessages>(ranks, timeShares, set.window());
    return;
  }
  segments = std::make_unique<Segments>(session, set, set.steps().value_or(1));
  timeShard = std::make_unique<TimeShard>(session, *segments, ranks, timeShares);
}

bool UpdateExecutor::choosesShardScans() const {
  if (run.options.shardBackward != ShardBackward::Auto)
    return run.options.shardBackward == ShardBackward::Exscan;
  return !run.options.throttle.isLimited() &&
         isScanCheaper(model.shardScans, timeShares, settings.accumulate);
}

/// With bidirectional layers, later ranks start with the reversed layers.
std::string UpdateExecutor::stepKind() const {
  if (!timeShares)
    return "step";
  bool isLate = 2 * ranks.rank() >= timeShares &&
                model.hasFunction("late_shard." + model.variants.front().name);
  return text(scansShards ? "scan_" : "", isLate ? "late_shard" : "shard");
}

std::string UpdateExecutor::chooseForAll() {
  if (!ranks.isFirst())
    return ranks.broadcast("");
  int64_t updates = run.epochs * run.batchesPerEpoch;
  if (!segments) {
    steps->choose(run.options.variant, run.stepSizes(), std::max<int64_t>(1, updates - state.step),
                  /*checks=*/ranks.isAlone());
    return ranks.broadcast(steps->variant());
  }
  std::vector<int64_t> any(run.capacity(), 0);
  run.data.set->gather(any.data(), static_cast<int64_t>(any.size()), whole.batch);
  segments->restart(whole.batch);
  VariantChoice choice =
      chooseVariant(session, run.options.variant, "step", segments->fill(whole.batch, 0),
                    updates * run.updatesPerBatch());
  return ranks.broadcast(choice.variant->name);
}

void UpdateExecutor::prepareUpdates() {
  std::vector<size_t> groups = groupsOf(model, settings.rateRules);
  if (ranks.isAlone())
    return prepareCarried();
  if (!run.isPipelined()) {
    exchange =
        std::make_unique<ExchangedUpdate>(session, ranks, run.options.exchange, stepFunction(),
                                          groups, model.sharesStatistics || timeShares);
    return;
  }
  stages = std::make_unique<StageParameters>(session, ranks, settings.variant, groups);
  if (model.areModules) {
    module = std::make_unique<StepRun>(session, ranks, mail,
                                       stageFunction(settings.variant, ranks.rank()), whole,
                                       StepPorts{}, StepRun::Parts::Joined);
    return;
  }
  stageUpdate = std::make_unique<StageUpdate>(run, *stages);
  orders = std::make_unique<StageOrders>(ranks, model, run.options.pipeline);
  if (orders->wantsTimes())
    times = std::make_unique<PipelineTimes>(ranks, model);
  // Fails if no order satisfies the memory limit.
  orders->of(settings.accumulate);
}

/// Defers gradients if the program supports that and nothing needs all gradients at once.
void UpdateExecutor::prepareCarried() {
  carried.reset();
  // Programs for several ranks also announce gradients, so firstUses does not imply deferral.
  if (isDistributedProgram() || !run.data.set || segments || settings.accumulate > 1 ||
      settings.clipNorm || model.firstUses.count(stepFunction()) == 0)
    return;
  carried = std::make_unique<CrossStepUpdate>(
      session, ranks, stepFunction(), groupsOf(model, settings.rateRules),
      [this] { return run.data.set->newBatch(run.capacity()); });
}

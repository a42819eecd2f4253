//===- UpdateSteps.cpp - Compute the steps of updates ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/UpdateExecutor.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa;
using namespace bppsa::runtime;
using schedule::OpKind;

void UpdateExecutor::runStep(int64_t number) {
  if (!take(number))
    return;
  run.drawSeed(state.step * settings.accumulate + number);
  bool isComputed = isCounted();
  if (isComputed)
    startStep();
  if (!isSummed)
    return fillAhead();
  if (!isComputed)
    return;
  // Waits for the step. Several losses have equal weights here.
  const float *gradients = session.parameters.changeGradients();
  double weight = whole.weights.front();
  addGradients(/*stage=*/0, gradients, scaleOf(weight));
  // Like PyTorch, update statistics after every batch.
  session.parameters.acceptStatistics();
  for (size_t i = 0; i < model.losses.size(); ++i)
    losses.add(i, session.lossOf(i), weight);
}

bool UpdateExecutor::take(int64_t number) {
  if (run.data.stream) {
    if (number > 0 && !source.takeGiven())
      return false;
    if (!isSummed)
      source.given->requireWeight(text("batch ", state.batch + 1, " of epoch ", state.epoch + 1));
    whole.weights = source.given->lossWeights();
  } else {
    if (filledAhead != state.batch)
      source.fill(state.batch * run.updateSize() + number * settings.batch, whole.batch);
    whole.weights = isIdle() || source.ownSize == 0 ? std::vector<double>(model.losses.size())
                                                    : weightsOf(whole.batch);
  }
  if (weights.empty())
    weights = whole.weights;
  if (run.data.stream)
    requireProportional();
  return true;
}

/// Requires loss weights proportional to the first batch of the update.
void UpdateExecutor::requireProportional() const {
  const std::vector<double> &next = whole.weights;
  for (size_t i = 1; i < weights.size(); ++i)
    if (next[i] * weights.front() != weights[i] * next.front())
      fail("--accumulate: the batches of update ", state.batch + 1, " of epoch ", state.epoch + 1,
           " have losses (", model.lossOutputs(),
           ") with different weights, so the gradients of their sum cannot be accumulated; remove "
           "--accumulate");
}

/// Samples without weight have no loss, but time shards still pass on states, and ranks may
/// exchange statistics.
bool UpdateExecutor::isCounted() {
  if (timeShares)
    return !isIdle();
  if (!isSummed)
    return hasWeight(whole.weights) || run.allRanksStep();
  double weight = whole.weights.front();
  return (run.allRanksStep() ? ranks.sum({weight}).front() : weight) != 0;
}

/// With `gives`, contributes gradients while the step runs.
void UpdateExecutor::compute(bool gives, const std::function<void()> &step) {
  TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, "step");
  if (!exchange)
    return step();
  exchange->run({whole.weights.front(), source.ownSize, source.allSize}, gives, step);
  // The update may happen after the next step has started.
  session.parameters.acceptStatistics();
}

void UpdateExecutor::startStep() {
  compute(/*gives=*/!isSummed && !timeShares, [this] {
    StepPortsUse use({nullptr, shardMessages.get()});
    if (run.data.stream)
      run.data.stream->compute();
    else if (module)
      module->start();
    else if (std::string line = steps->start(std::max<int64_t>(source.ownSize, 1)); !line.empty())
      change = line;
  });
}

void UpdateExecutor::fillAhead() {
  if (!isDeviceProgram() || !ranks.isAlone() || !run.data.set ||
      state.batch + 1 >= run.batchesPerEpoch)
    return;
  filledAhead = state.batch + 1;
  source.fill(*filledAhead * run.updateSize(), whole.batch);
  whole.batch.prefetchArray();
}

void UpdateExecutor::runSegment(int64_t number) {
  if (number == 0) {
    source.fill(state.batch * run.updateSize(), whole.batch);
    if (source.ownSize > 0)
      segments->restart(whole.batch);
  }
  whole.weights.assign(model.losses.size(), 0);
  run.drawSeed(state.step);
  if (source.ownSize == 0)
    return;
  segments->fill(whole.batch, number);
  for (size_t i = 0; i < whole.weights.size(); ++i)
    whole.weights[i] = segments->weightOf(whole.batch, number, i);
  compute(/*gives=*/true, [&] { segments->run("step." + settings.variant, whole.batch, number); });
}

static bool isLast(schedule::PipelineOp op) {
  return op.kind == OpKind::W || op.kind == OpKind::BW;
}

void UpdateExecutor::runPart(schedule::PipelineOp op) {
  if (isCarried)
    return runCarried();
  if (timeShard)
    return runShareOfStream(op.kind);
  Slot &slot = find(op.microbatch);
  TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, traceName(op));
  if (exchange)
    exchange->run({slot.data.weights.front()}, /*gives=*/false, [&] { advance(op, slot); });
  else if (slot.data.counts())
    runStagePart(op, slot);
  if (isLast(op) && --slot.open == 0)
    freeSlots.push_back(&slot);
}

void UpdateExecutor::advance(schedule::PipelineOp op, Slot &slot) {
  StepRun &step = *slot.steps.at(op.stage);
  if (op.kind == OpKind::F)
    step.start();
  else
    step.resume(/*toEnd=*/op.kind != OpKind::B);
  if (isLast(op))
    addResults(op.stage, slot.data);
}

void UpdateExecutor::runStagePart(schedule::PipelineOp op, Slot &slot) {
  const StepRun &step = *slot.steps.at(op.stage);
  mail.begin(mailPart(op, slot.data));
  double begin = now(), waited = step.waited();
  advance(op, slot);
  if (!times || slot.data.batch.samples != settings.batch)
    return;
  times->add(op, now() - begin - (step.waited() - waited));
  for (auto [to, bytes] : step.sentBytes())
    times->noteBytes(op.stage, to, bytes);
}

std::string UpdateExecutor::traceName(schedule::PipelineOp op) const {
  const char *part = op.kind == OpKind::F ? "F " : op.kind == OpKind::W ? "W " : "B ";
  bool isOnly = static_cast<int64_t>(model.stages.size()) == model.pipelineRanks;
  return isOnly ? text(part, op.microbatch) : text(part, op.microbatch, " of ", op.stage);
}

void UpdateExecutor::runCarried() {
  Microbatch &next = carried->next();
  source.fill(state.batch * run.updateSize(), next.batch);
  weights = next.batch.lossWeights();
  run.requireCounted(weights);
  run.drawSeed(state.step);
  next.seed = session.seed;
  double begin = now();
  carried->run();
  steps->addStep(now() - begin);
}

/// Exchanges states and cotangents between compiled functions.
void UpdateExecutor::runShareOfStream(OpKind kind) {
  if (kind == OpKind::F) {
    source.fill(state.batch * run.updateSize(), whole.batch);
    whole.weights =
        isIdle() ? std::vector<double>(model.losses.size()) : timeShard->runForward(whole.batch);
  } else if (!isIdle()) {
    timeShard->receiveCotangents(stepFunction());
    compute(/*gives=*/false, [this] { timeShard->runBackward(); });
    timeShard->sendCotangents();
  }
}

/// Microbatches are filled in order.
UpdateExecutor::Slot &UpdateExecutor::find(int64_t number) {
  while (static_cast<int64_t>(used.size()) <= number) {
    if (freeSlots.empty())
      freeSlots.push_back(slots.emplace_back(makeSlot()).get());
    Slot &slot = *freeSlots.back();
    freeSlots.pop_back();
    slot.open = slot.steps.size();
    fill(static_cast<int64_t>(used.size()), slot.data);
    used.push_back(&slot);
  }
  return *used[number];
}

std::unique_ptr<UpdateExecutor::Slot> UpdateExecutor::makeSlot() {
  auto slot = std::make_unique<Slot>();
  // A stage writes only its own gradients, so the rest may be uninitialized.
  uint64_t bytes = session.parameters.gradientCount() * sizeof(float);
  slot->data = Microbatch(model, run.data.set->newBatch(run.capacity()),
                          stageUpdate ? Buffer::uninitialized(bytes) : Buffer(bytes));
  auto add = [&](size_t stage, const std::string &function, StepPorts ports) {
    slot->steps[static_cast<int>(stage)] =
        std::make_unique<StepRun>(session, ranks, mail, function, slot->data, ports);
  };
  if (!stageUpdate)
    add(0, stepFunction(), {nullptr, shardMessages.get(), exchange.get()});
  for (size_t stage = 0; stageUpdate && stage < model.stages.size(); ++stage)
    if (stages->isOwn(stage))
      add(stage, stageFunction(settings.variant, stage), {});
  return slot;
}

void UpdateExecutor::fill(int64_t number, Microbatch &microbatch) {
  source.fill(state.batch * run.updateSize() + number * settings.batch, microbatch.batch);
  microbatch.weights = weightsOf(microbatch.batch);
  updateWeight += microbatch.weights.front();
  run.drawSeed(state.step * settings.accumulate + number);
  microbatch.seed = session.seed;
}

/// Returns weights of the losses that this rank computes. With time shards, sequence losses count
/// this shard's steps, and others belong to the last shard.
std::vector<double> UpdateExecutor::weightsOf(const Batch &batch) const {
  std::vector<double> weights = batch.lossWeights();
  for (size_t i = 0; timeShares && i < weights.size(); ++i) {
    bool isOfSteps = model.losses[i].target && model.losses[i].target->timeAxis;
    if (!isOfSteps && ranks.rank() + 1 != timeShares)
      weights[i] = 0;
    else if (isOfSteps && !run.data.set->isWeighted(i))
      weights[i] *= static_cast<double>(*run.data.set->steps());
  }
  return weights;
}

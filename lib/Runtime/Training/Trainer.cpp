//===- Trainer.cpp - The training loop --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Trainer.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/OnnxFile.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>

using namespace bppsa::runtime;

void Trainer::orderSamples() {
  loader.reset();
  std::vector<int64_t> order = trained;
  if (settings.shuffle) {
    ShuffleBlocks blocks = data.set->shuffleBlocks();
    order = blockwiseOrder(settings.seed, state.epoch, trained, blocks.samples, blocks.together);
  }
  filledAhead.reset();
  samples = RankSamples(
      std::move(order), [this](int64_t first) { return sizeAt(first); },
      [this](int64_t size) { return ownShare(size); });
  loader = std::make_unique<BatchLoader>(
      *data.set, samples.order(), samples.positionOf(state.batch * updateSize()), capacity(),
      [this](int64_t position) { return samples.sizeAt(position); });
}

bool Trainer::runEpoch() {
  double before = now() - state.seconds;
  if (data.stream)
    skipBatches();
  else
    orderSamples();
  std::vector<double> losses;
  for (const EpochRecord &record : state.history)
    losses.push_back(record.valLoss.value_or(record.loss));
  plateauScale = schedule.plateauScale(losses);
  while (findBatch()) {
    if (isStopping()) {
      settle();
      return false;
    }
    int64_t size = data.stream ? 0 : sizeOfBatch(state.batch);
    runBatch();
    state.seconds = now() - before;
    observer->batchDone(state, state.losses.total(model), data.stream ? givenSamples : size);
    if (!options.checkpointEvery || state.step % *options.checkpointEvery != 0)
      continue;
    settle();
    attempt(checkpointFailed, [&] { saveCheckpoint(); });
  }
  return finishEpoch();
}

/// Returns false when the observer asks to stop.
bool Trainer::validate(EpochRecord &record) {
  takeStatistics();
  AveragedValues averaged(session.parameters);
  std::optional<Evaluation> result = evaluateAll();
  if (!result)
    return false;
  record.valLoss = result->loss;
  record.valAccuracy = result->accuracy;
  for (size_t i = 0; i < record.losses.size(); ++i) {
    record.losses[i].valLoss = result->losses[i].loss;
    record.losses[i].valAccuracy = result->losses[i].accuracy;
  }
  return true;
}

void Trainer::noteBest(const EpochRecord &record) {
  bool byLoss = settings.best == "loss";
  std::optional<double> value = byLoss ? record.valLoss : record.valAccuracy;
  if (!value || (state.best && (byLoss ? *value >= *state.best : *value <= *state.best)))
    return;
  state.best = value;
  state.bestEpoch = record.epoch;
  if (!options.saveBest.empty())
    attempt(bestFailed, [&] {
      AveragedValues averaged(session.parameters);
      saveOnnx(options.saveBest, model, program.onnx, program.onnxSize, session.parameters);
    });
}

bool Trainer::isPatienceOver() const {
  return settings.patience && state.epoch - state.bestEpoch >= *settings.patience;
}

/// Returns false when the observer asks to stop before the epoch is over.
bool Trainer::finishEpoch() {
  settle();
  EpochRecord record;
  record.epoch = state.epoch + 1;
  record.loss = state.losses.total(model);
  for (size_t i = 0; i < model.losses.size() && model.losses.size() > 1; ++i)
    record.losses.push_back(
        {model.losses[i].output, state.losses.mean(i), std::nullopt, std::nullopt});
  double start = now() - state.seconds;
  if (validates() && !validate(record))
    return false;
  record.seconds = now() - start;
  record.loadSeconds = state.loadSeconds;
  // A run that resumes after the last batch of an epoch has done no step of its own.
  record.rate = rateAt(std::max<int64_t>(state.step - 1, 0));
  record.variant = data.stream ? data.stream->variant() : settings.variant;
  state.history.push_back(record);
  ++state.epoch;
  noteBest(record);
  state.batch = 0;
  state.losses = {};
  state.seconds = state.loadSeconds = 0;
  attempt(checkpointFailed, [&] { saveCheckpoint(); });
  attempt(logFailed, [&] { log.add(state.history); });
  isEnough = observer->epochDone(record);
  return true;
}

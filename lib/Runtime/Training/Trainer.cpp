//===- Trainer.cpp - The training loop --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Trainer.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/OnnxFile.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Trainer::setHyper() {
  int64_t perEpoch = std::max<int64_t>(1, batchesPerEpoch * updatesPerBatch());
  auto rateFrom = [&](double base) {
    double rate = schedule.rate(base, state.step, perEpoch, epochs * perEpoch) * plateauScale;
    return static_cast<float>(searchedRate.value_or(rate));
  };
  auto base = settings.hyper.find("lr");
  session.setHyper(settings.hyper, rateFrom(base == settings.hyper.end() ? 0 : base->second),
                   state.earlier + state.step + 1);
  session.rates = {session.hyper[0]};
  for (const RateRule &rule : settings.rateRules)
    session.rates.push_back(rateFrom(rule.rate));
  observer->showRate(session.hyper[0]);
}

void Trainer::update() {
  session.update();
  if (!settings.ema)
    return;
  if (state.averaged++ == 0)
    session.parameters.restartAverage();
  else
    session.parameters.addToAverage(*settings.ema);
}

/// Waits for the step. Stops at numbers that are not finite and sets the gradient's scale.
void Trainer::checkStep() {
  double squares = session.gradientSquares();
  try {
    if (!std::isfinite(session.loss))
      fail("the loss is ", session.loss);
    if (!std::isfinite(squares))
      requireFiniteGradients(session);
  } catch (const Error &error) {
    throw DivergedError(text("epoch ", state.epoch + 1, ", batch ", state.batch + 1, " (step ",
                             state.step + 1, "): ", error.what(),
                             "; use a smaller --lr or --clip-norm"));
  }
  if (settings.clipNorm)
    session.clipGradients(squares, *settings.clipNorm);
}

int64_t Trainer::sizeOfBatch(int64_t number) const {
  return std::min(updateSize(), trainedCount() - number * updateSize());
}

int64_t Trainer::sizeAt(int64_t first) const {
  int64_t update = first / updateSize(), end = update * updateSize() + sizeOfBatch(update);
  return std::min(settings.batch, end - first);
}

void Trainer::fill() {
  double begin = now();
  loader->next(batch);
  state.loadSeconds += now() - begin;
}

void Trainer::addLosses(const std::vector<double> &weights) {
  for (size_t i = 0; i < weights.size(); ++i)
    state.losses.add(i, session.lossOf(i), weights[i]);
}

void Trainer::addLosses(const LossSums &sums, const std::vector<double> &weights) {
  for (size_t i = 0; i < weights.size(); ++i)
    if (std::optional<double> mean = sums.mean(i))
      state.losses.add(i, *mean, weights[i]);
}

void Trainer::runSegments() {
  LossSums sums;
  segments->restart(batch);
  for (int64_t number = 0; number < segments->count(); ++number) {
    session.seed = static_cast<int64_t>(stepSeed(settings.seed, state.step));
    segments->run("step." + settings.variant, batch, number);
    bool isCounted = false;
    for (size_t i = 0; i < model.losses.size(); ++i)
      isCounted |= segments->weightOf(batch, number, i) != 0;
    // A segment beyond the ends of all sequences has no loss and changes nothing.
    if (isCounted) {
      setHyper();
      checkStep();
      update();
      for (size_t i = 0; i < model.losses.size(); ++i)
        sums.add(i, session.lossOf(i), segments->weightOf(batch, number, i));
    }
    ++state.step;
  }
  addLosses(sums, batch.lossWeights());
  ++state.batch;
}

void Trainer::runBatch() {
  if (data.stream)
    return runGiven();
  if (filledAhead != state.batch && settings.accumulate == 1)
    fill();
  int64_t size = sizeOfBatch(state.batch);
  if (settings.accumulate > 1)
    return runAccumulated();
  std::vector<double> weights = batch.lossWeights();
  data.set->requireWeight(batch, text("batch ", state.batch + 1, " of epoch ", state.epoch + 1));
  if (segments)
    return runSegments();
  session.seed = static_cast<int64_t>(stepSeed(settings.seed, state.step));
  std::string change = steps->start(size);
  // While a device works on this batch, the next one is put together and copied.
  if (isDeviceProgram() && state.batch + 1 < batchesPerEpoch) {
    filledAhead = state.batch + 1;
    fill();
    batch.copyAhead();
  }
  setHyper();
  checkStep();
  update();
  addLosses(weights);
  ++state.batch;
  ++state.step;
  noteChange(change);
}

void Trainer::noteChange(const std::string &change) {
  if (change.empty())
    return;
  observer->note(text("after step ", state.step, ": ", change));
  observer->showVariant(settings.variant = steps->variant());
}

void Trainer::runAccumulated() {
  std::vector<double> sums(session.parameters.gradientCount());
  LossSums losses;
  // Where there are several losses, all count alike.
  double weights = 0;
  int64_t first = state.batch * updateSize(), end = first + sizeOfBatch(state.batch);
  std::string change;
  for (int64_t at = first, number = 0; at < end; at += settings.batch, ++number) {
    int64_t size = sizeAt(at);
    fill();
    double weight = batch.losses.front().lossWeight;
    // A batch of which nothing counts has no loss.
    if (weight == 0)
      continue;
    session.seed =
        static_cast<int64_t>(stepSeed(settings.seed, state.step * settings.accumulate + number));
    std::string note = steps->start(size);
    change = note.empty() ? change : note;
    // Waits for the step.
    const float *gradients = session.parameters.changeGradients();
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += weight * gradients[i];
    // As in PyTorch, every batch of an update is one that the statistics have seen.
    session.parameters.acceptStatistics();
    for (size_t i = 0; i < model.losses.size(); ++i)
      losses.add(i, session.lossOf(i), weight);
    weights += weight;
  }
  if (weights == 0)
    data.set->requireWeight(batch, text("update ", state.batch + 1, " of epoch ", state.epoch + 1));
  float *gradients = session.parameters.changeGradients();
  for (size_t i = 0; i < sums.size(); ++i)
    gradients[i] = static_cast<float>(sums[i] / weights);
  session.loss = static_cast<float>(losses.total(model));
  setHyper();
  checkStep();
  update();
  addLosses(losses, losses.weights);
  ++state.batch;
  ++state.step;
  noteChange(change);
}

void Trainer::orderSamples() {
  loader.reset();
  order = trained;
  if (settings.shuffle) {
    ShuffleBlocks blocks = data.set->shuffleBlocks();
    order = blockwiseOrder(settings.seed, state.epoch, trained, blocks.samples, blocks.together);
  }
  filledAhead.reset();
  loader = std::make_unique<BatchLoader>(*data.set, order, state.batch * updateSize(),
                                         std::min(settings.batch, trainedCount()),
                                         [this](int64_t first) { return sizeAt(first); });
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
    if (observer->isInterrupted())
      return false;
    int64_t size = given ? given->samples : sizeOfBatch(state.batch);
    runBatch();
    state.seconds = now() - before;
    observer->batchDone(state, state.losses.total(model), size);
    if (options.checkpointEvery && state.step % *options.checkpointEvery == 0)
      attempt(checkpointFailed, [&] { saveCheckpoint(); });
  }
  return finishEpoch();
}

/// Returns false when the observer asks to stop.
bool Trainer::validate(EpochRecord &record) {
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
  record.rate = session.hyper[0];
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

//===- TrainerSteps.cpp - The steps of a training run ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/NaNSearch.h"
#include "bppsa/Runtime/Training/Random.h"
#include "bppsa/Runtime/Training/Trainer.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;

float Trainer::rateAt(int64_t step, double base) const {
  int64_t perEpoch = std::max<int64_t>(1, batchesPerEpoch * updatesPerBatch());
  double rate = schedule.rate(base, step, perEpoch, epochs * perEpoch) * plateauScale;
  return static_cast<float>(searchedRate.value_or(rate));
}

float Trainer::rateAt(int64_t step) const {
  auto base = settings.hyper.find("lr");
  return rateAt(step, base == settings.hyper.end() ? 0 : base->second);
}

void Trainer::setHyper() {
  session.setHyper(settings.hyper, rateAt(state.step), state.earlier + state.step + 1);
  session.rates = {session.hyper[0]};
  for (const RateRule &rule : settings.rateRules)
    session.rates.push_back(rateAt(state.step, rule.rate));
  observer->showRate(session.hyper[0]);
}

std::function<void(int64_t, int64_t)> Trainer::startAveraging() {
  if (!settings.ema)
    return [](int64_t, int64_t) {};
  bool restarts = state.averaged++ == 0;
  return [this, restarts](int64_t start, int64_t size) {
    if (restarts)
      session.parameters.restartAverage(start, size);
    else
      session.parameters.addToAverage(*settings.ema, start, size);
  };
}

void Trainer::update() {
  session.update();
  startAveraging()(0, session.parameters.gradientCount());
}

std::string Trainer::stepName() const {
  return text("epoch ", state.epoch + 1, ", batch ", state.batch + 1, " (step ", state.step + 1,
              ")");
}

void Trainer::requireFiniteLoss() const {
  if (!std::isfinite(session.loss))
    failDiverged(stepName(), text("the loss is ", session.loss));
}

/// Waits for the step. Stops at numbers that are not finite and sets the gradient's scale.
void Trainer::checkStep() {
  double squares = session.gradientSquares();
  try {
    requireFiniteLoss();
    if (!std::isfinite(squares))
      refuseGradients(session, stepName());
  } catch (const DivergedError &error) {
    if (!settings.checkNaN)
      throw;
    throw DivergedError(text(error.what(), "; ", describeFirstNaN(session, "step", batch)));
  }
  if (settings.clipNorm)
    session.clipGradients(squares, *settings.clipNorm);
}

int64_t Trainer::sizeOfBatch(int64_t number) const {
  return std::min(updateSize(), trainedCount() - number * updateSize());
}

int64_t Trainer::countMicrobatches() const {
  return (sizeOfBatch(state.batch) + settings.batch - 1) / settings.batch;
}

int64_t Trainer::sizeAt(int64_t first) const {
  int64_t update = first / updateSize(), end = update * updateSize() + sizeOfBatch(update);
  return std::min(settings.batch, end - first);
}

void Trainer::fill(int64_t first, Batch &batch) {
  ownSize = samples.sizeOf(first);
  allSize = sizeAt(first);
  if (ownSize == 0) {
    // The step runs all the same; what it is run on counts nothing.
    if (stepsTogether())
      data.set->resize(1, batch);
    return;
  }
  double begin = now();
  loader->next(batch);
  state.loadSeconds += now() - begin;
}

std::vector<double> Trainer::ownWeights() const {
  if (given)
    return given->lossWeights();
  return ownSize > 0 ? batch.lossWeights() : std::vector<double>(model.losses.size());
}

void Trainer::drawSeed(int64_t number) {
  // Each rank drops elements of its own; of stages and of shares of the steps these are of one
  // batch.
  uint64_t seed = ranks.isFirst() || isPipelined() || timeShares
                      ? settings.seed
                      : stepSeed(settings.seed, -static_cast<int64_t>(ranks.rank()));
  session.seed = static_cast<int64_t>(stepSeed(seed, number));
}

void Trainer::addLosses(const std::vector<double> &weights) {
  if (modules)
    return report(session.lossOf(ranks.rank()), weights[ranks.rank()]);
  for (size_t i = 0; i < weights.size(); ++i)
    state.losses.add(i, session.lossOf(i), weights[i]);
}

void Trainer::addLosses(const LossSums &sums) {
  if (modules)
    return report(sums.mean(ranks.rank()).value_or(0), sums.weights[ranks.rank()]);
  for (size_t i = 0; i < sums.weights.size(); ++i)
    if (std::optional<double> mean = sums.mean(i))
      state.losses.add(i, *mean, sums.weights[i]);
}

static bool isAnyCounted(const std::vector<double> &weights) {
  return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 0; });
}

void Trainer::requireCounted(const std::vector<double> &weights) const {
  const char *what = settings.accumulate > 1 ? "update " : "batch ";
  if (!isAnyCounted(weights))
    Batch::refuseWithoutWeight(text(what, state.batch + 1, " of epoch ", state.epoch + 1, " of ",
                                    data.set ? data.set->title() : "the loader"));
}

void Trainer::finishStep() {
  setHyper();
  if (exchange)
    return deferUpdate();
  if (modules)
    return updateModule();
  checkStep();
  update();
}

std::string Trainer::startStep(double weight, bool gives) {
  std::string change;
  compute(weight, gives, [&] {
    if (data.stream)
      data.stream->compute();
    else if (modules)
      modules->start();
    else
      change = steps->start(std::max<int64_t>(ownSize, 1));
  });
  return change;
}

void Trainer::runSegments() {
  LossSums sums;
  if (ownSize > 0)
    segments->restart(batch);
  for (int64_t number = 0; number < segments->count(); ++number) {
    std::vector<double> weights(model.losses.size());
    drawSeed(state.step);
    if (ownSize > 0) {
      segments->fill(batch, number);
      for (size_t i = 0; i < weights.size(); ++i)
        weights[i] = segments->weightOf(batch, number, i);
      compute(weights.front(), /*gives=*/true,
              [&] { segments->run("step." + settings.variant, batch, number); });
    }
    combineStep(weights);
    // A segment beyond the ends of all sequences has no loss and changes nothing.
    if (isAnyCounted(weights)) {
      finishStep();
      for (size_t i = 0; i < weights.size(); ++i)
        sums.add(i, session.lossOf(i), weights[i]);
    }
    ++state.step;
  }
  requireCounted(sums.weights);
  addLosses(sums);
  ++state.batch;
}

void Trainer::finishBatch(std::vector<double> &weights) {
  combineStep(weights);
  requireCounted(weights);
  finishStep();
  addLosses(weights);
  ++state.batch;
  ++state.step;
}

void Trainer::finishBatch(const std::vector<double> &sums, LossSums &losses) {
  combineSums(sums, losses);
  requireCounted(losses.weights);
  finishStep();
  addLosses(losses);
  ++state.batch;
  ++state.step;
}

void Trainer::runBatch() {
  if (!ranks.isAlone())
    ranks.setPosition(stepName());
  int64_t first = state.batch * updateSize();
  if (pipeline && !modules)
    return runPipelined();
  if (beginCarried())
    return runCarried();
  if (settings.accumulate > 1)
    return timeShares ? runSharedMicrobatches() : runAccumulated();
  if (data.stream)
    return runGiven();
  if (filledAhead != state.batch)
    fill(first, batch);
  if (timeShares)
    return runTimeShare();
  if (segments)
    return runSegments();
  std::vector<double> weights = ownWeights();
  std::string change;
  drawSeed(state.step);
  // Of samples that count nothing there is no mean.
  if (isAnyCounted(weights) || stepsTogether())
    change = startStep(weights.front(), /*gives=*/true);
  // While a device works on this batch, the next one is put together and copied.
  if (isDeviceProgram() && ranks.isAlone() && state.batch + 1 < batchesPerEpoch) {
    filledAhead = state.batch + 1;
    fill(first + updateSize(), batch);
    batch.copyAhead();
  }
  finishBatch(weights);
  noteChange(change);
}

void Trainer::noteChange(const std::string &change) {
  if (change.empty())
    return;
  observer->note(text("after step ", state.step, ": ", change));
  observer->showVariant(settings.variant = steps->variant());
  if (carried)
    prepareCarried();
}

bool Trainer::takePart(int64_t number) {
  if (data.stream)
    return number == 0 || (number < settings.accumulate && takeGiven());
  if (number * settings.batch >= sizeOfBatch(state.batch))
    return false;
  fill(state.batch * updateSize() + number * settings.batch, batch);
  return true;
}

void Trainer::runAccumulated() {
  std::vector<double> sums(session.parameters.gradientCount()), weights;
  LossSums losses;
  std::string change;
  for (int64_t number = 0; takePart(number); ++number) {
    std::vector<double> own = ownWeights();
    if (weights.empty())
      weights = own;
    if (data.stream)
      requireProportional(own, weights);
    // Where there are several losses, all count alike.
    double weight = own.front();
    // A batch of which nothing counts has no loss.
    if (countTogether(weight) == 0)
      continue;
    drawSeed(state.step * settings.accumulate + number);
    // The sum of all of them is handed over.
    std::string note = startStep(weight, /*gives=*/false);
    change = note.empty() ? change : note;
    // Waits for the step.
    const float *gradients = session.parameters.changeGradients();
    double scale = exchange ? exchange->scaleOf(weight) : weight;
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += scale * gradients[i];
    // As in PyTorch, every batch of an update is one that the statistics have seen.
    session.parameters.acceptStatistics();
    for (size_t i = 0; i < model.losses.size(); ++i)
      losses.add(i, session.lossOf(i), weight);
  }
  finishBatch(sums, losses);
  noteChange(change);
}

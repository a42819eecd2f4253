//===- TrainingRun.cpp - Settings, data and state of a training run -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/TrainingRun.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <cmath>

using namespace bppsa::runtime;

Share TrainingRun::ownShare(int64_t size) const {
  return hasTimeShards() || isPipelined() ? Share{0, size}
                                          : shareOf(size, ranks.rank(), ranks.count());
}

int64_t TrainingRun::sizeOfUpdate(int64_t number) const {
  return std::min(updateSize(), static_cast<int64_t>(trained.size()) - number * updateSize());
}

int64_t TrainingRun::sizeOfBatch(int64_t first) const {
  int64_t update = first / updateSize(), end = update * updateSize() + sizeOfUpdate(update);
  return std::min(settings.batch, end - first);
}

std::vector<int64_t> TrainingRun::stepSizes() const {
  auto count = static_cast<int64_t>(trained.size());
  int64_t full = std::min(settings.batch, count);
  std::vector<int64_t> sizes;
  for (int64_t size : {full, count % full})
    sizes.push_back(std::max<int64_t>(ownShare(size).size(), allRanksStep() && size > 0 ? 1 : 0));
  return sizes;
}

int64_t TrainingRun::countMicrobatches() const {
  return (sizeOfUpdate(state.batch) + settings.batch - 1) / settings.batch;
}

int64_t TrainingRun::updatesPerBatch() const {
  int64_t length = settings.tbptt.value_or(0);
  int64_t sequence = data.set ? data.set->steps().value_or(1) : 1;
  return length > 0 ? (sequence + length - 1) / length : 1;
}

const Dataset &TrainingRun::validationData() const {
  return data.validationSet ? *data.validationSet : data.wholeSet ? *data.wholeSet : *data.set;
}

std::string TrainingRun::stepName() const {
  return text("epoch ", state.epoch + 1, ", batch ", state.batch + 1, " (step ", state.step + 1,
              ")");
}

float TrainingRun::rateAt(int64_t step, double base) const {
  int64_t perEpoch = std::max<int64_t>(1, batchesPerEpoch * updatesPerBatch());
  double rate = schedule.rate(base, step, perEpoch, epochs * perEpoch) * plateauScale;
  return static_cast<float>(searchedRate.value_or(rate));
}

float TrainingRun::rateAt(int64_t step) const {
  auto base = settings.hyper.find("lr");
  return rateAt(step, base == settings.hyper.end() ? 0 : base->second);
}

void TrainingRun::setHyper() {
  session.setHyper(settings.hyper, rateAt(state.step), state.earlier + state.step + 1);
  session.rates = {session.hyper[program::kRateSlot]};
  for (const RateRule &rule : settings.rateRules)
    session.rates.push_back(rateAt(state.step, rule.rate));
  observer->showRate(session.hyper[program::kRateSlot]);
}

AfterUpdate TrainingRun::startAveraging() {
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

void TrainingRun::drawSeed(int64_t number) {
  // Dropout seeds differ only between ranks with different samples.
  uint64_t seed = ranks.isFirst() || isPipelined() || hasTimeShards()
                      ? settings.seed
                      : stepSeed(settings.seed, -static_cast<int64_t>(ranks.rank()));
  session.seed = static_cast<int64_t>(stepSeed(seed, number));
}

void TrainingRun::requireFiniteLoss() const {
  if (!std::isfinite(session.loss))
    failDiverged(stepName(), text("the loss is ", session.loss));
}

void TrainingRun::requireCounted(const std::vector<double> &weights) const {
  const char *what = settings.accumulate > 1 ? "update " : "batch ";
  if (!hasWeight(weights))
    Batch::refuseWithoutWeight(text(what, state.batch + 1, " of epoch ", state.epoch + 1, " of ",
                                    data.set ? data.set->title() : "the loader"));
}

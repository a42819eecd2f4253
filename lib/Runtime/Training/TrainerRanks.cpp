//===- TrainerRanks.cpp - What the ranks of a training run share ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Trainer.h"

#include <algorithm>

using namespace bppsa::runtime;

//===----------------------------------------------------------------------===//
// Gradients and losses
//===----------------------------------------------------------------------===//

void Trainer::prepareExchange() {
  if (isPipelined())
    return preparePipeline();
  if (ranks.isAlone())
    return prepareCarried();
  exchange = std::make_unique<ExchangedUpdate>(
      session, ranks, options.exchange, stepFunction(), groupsOf(model, settings.rateRules),
      /*areWeighted=*/model.sharesStatistics || timeShares);
}

void Trainer::compute(double weight, bool gives, const std::function<void()> &step) {
  TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, "step");
  if (!exchange)
    return step();
  exchange->run({weight, ownSize, allSize}, gives, step);
  // The update may be made when the next step has begun.
  session.parameters.acceptStatistics();
}

void Trainer::deferUpdate() {
  requireFiniteLoss();
  exchange->update({stepName(), startAveraging(), divisor, settings.clipNorm});
  // A search ends at the step whose gradients are not finite.
  if (options.exchange.hasBarrier() || searchedRate)
    settle();
}

void Trainer::settle() {
  if (exchange)
    exchange->settle();
  if (carried)
    carried->settle();
  if (modules)
    takeReports(0);
  if (pipeline) {
    validateUpdate();
    pipeline->settle();
  }
}

/// Adds up, over all ranks, `own` and the gradients times `scale`; the losses of the session become
/// means.
LossSums Trainer::combine(const LossSums &own, double scale) {
  exchange->giveRest(scale);
  std::vector<double> numbers = {observer->isInterrupted() ? 1.0 : 0.0};
  numbers.insert(numbers.end(), own.losses.begin(), own.losses.end());
  numbers.insert(numbers.end(), own.weights.begin(), own.weights.end());
  numbers.resize(1 + 2 * model.losses.size());
  LossSums all;
  for (const std::vector<double> &part : ranks.gather(numbers)) {
    isInterrupted |= part.front() != 0;
    for (size_t i = 0; i < model.losses.size(); ++i)
      all.addSum(i, part[1 + i], part[1 + model.losses.size() + i]);
  }
  divisor = all.weights.front();
  // There will be no update.
  if (divisor == 0)
    exchange->discard();
  for (size_t i = 0; i < model.losses.size(); ++i)
    session.losses[i] = static_cast<float>(all.mean(i).value_or(0));
  session.loss = static_cast<float>(all.total(model));
  return all;
}

void Trainer::combineStep(std::vector<double> &weights) {
  if (ranks.isAlone() || modules)
    return;
  LossSums own;
  // Without a weight there is no mean.
  for (size_t i = 0; i < weights.size(); ++i)
    own.add(i, weights[i] == 0 ? 0 : session.lossOf(i), weights[i]);
  weights = combine(own, weights.front()).weights;
}

void Trainer::combineSums(const std::vector<double> &sums, LossSums &losses) {
  // A module has all samples.
  bool isAlone = ranks.isAlone() || modules;
  // Where this rank had no step.
  if (!isAlone)
    settle();
  float *gradients = session.parameters.changeGradients();
  double divisor = isAlone && !losses.weights.empty() ? losses.weights.front() : 1;
  for (size_t i = 0; i < sums.size(); ++i)
    gradients[i] = static_cast<float>(sums[i] / divisor);
  if (isAlone)
    session.loss = static_cast<float>(losses.total(model));
  else
    losses = combine(losses, 1);
}

//===----------------------------------------------------------------------===//
// Samples and variants
//===----------------------------------------------------------------------===//

Share Trainer::ownShare(int64_t size) const {
  return sharesTime() || isPipelined() ? Share{0, size}
                                       : shareOf(size, ranks.rank(), ranks.count());
}

void Trainer::requireShares() const {
  if (options.shardTime)
    requireTimeShares();
  if (ranks.isAlone())
    return;
  if (isPipelined())
    return requireStages();
  auto refuse = [&](auto... what) { fail(text(what...), "; train with one process"); };
  if (model.mixesSamples() && !sharesTime())
    refuse("ranks cannot share a batch of ", quote(model.source),
           ": its samples depend on each other");
  if (data.set->fixedBatch() && !sharesTime())
    refuse("ranks cannot share a batch of ", quote(model.source),
           ": the model fixes its batch size at ", *data.set->fixedBatch());
  if (model.losses.size() > 1 && data.set->isWeighted())
    refuse("the positions of several losses (", model.lossOutputs(),
           ") have weights, by which the gradients of ranks cannot be put together");
}

std::vector<int64_t> Trainer::stepSizes() const {
  int64_t full = std::min(settings.batch, trainedCount());
  std::vector<int64_t> sizes;
  for (int64_t size : {full, trainedCount() % full})
    sizes.push_back(std::max<int64_t>(ownShare(size).size(), stepsTogether() && size > 0 ? 1 : 0));
  return sizes;
}

int64_t Trainer::capacity() const { return std::max<int64_t>(stepSizes().front(), 1); }

//===----------------------------------------------------------------------===//
// Statistics of batches
//===----------------------------------------------------------------------===//

double Trainer::countTogether(double weight) {
  if (!stepsTogether())
    return weight;
  double sum = 0;
  for (const std::vector<double> &part : ranks.gather(std::vector<double>{weight}))
    sum += part.front();
  return sum;
}

void Trainer::takeStatistics() {
  if (ranks.isAlone())
    return;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const ParameterInfo &info = model.parameters[i];
    if (!info.statistic)
      continue;
    auto *values = reinterpret_cast<char *>(session.parameters.changeValues(i));
    std::string first = ranks.broadcast({values, info.elements * sizeof(float)});
    std::copy(first.begin(), first.end(), values);
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

bool Trainer::isStopping() { return ranks.isAlone() ? observer->isInterrupted() : isInterrupted; }

void Trainer::writeTraces() {
  if (options.trace.empty())
    return;
  // The last sums may still be on their way.
  if (!ranks.isAlone()) {
    ranks.loop().drain();
    ranks.trace().addSeconds("processor of messages", ranks.loop().processorSeconds());
  }
  std::vector<std::string> all = ranks.gather(ranks.trace().toJson(ranks.rank()));
  if (ranks.isFirst())
    writeTrace(options.trace, all);
}

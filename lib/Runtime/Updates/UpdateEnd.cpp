//===- UpdateEnd.cpp - Combine gradients and update parameters ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "NaNSearch.h"
#include "Updates/UpdateExecutor.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>

using namespace bppsa::runtime;

void UpdateExecutor::combine() {
  if (!isSummed) {
    weights = whole.weights;
    if (!exchange)
      return;
    LossSums own;
    for (size_t i = 0; i < weights.size(); ++i)
      own.add(i, weights[i] == 0 ? 0 : session.lossOf(i), weights[i]);
    weights = gatherLosses(own, weights.front()).weights;
    return;
  }
  // This rank may not have run a step.
  if (exchange)
    exchange->settle();
  takeSums(exchange || losses.weights.empty() ? 1 : losses.weights.front());
  if (exchange)
    losses = gatherLosses(losses, 1);
  else
    session.loss = static_cast<float>(losses.total(model));
  weights = losses.weights;
}

/// Sums losses and scaled gradients over all ranks, and sets the session's losses to means.
LossSums UpdateExecutor::gatherLosses(const LossSums &own, double scale) {
  exchange->contributeRemaining(scale);
  std::vector<double> numbers = {run.observer->isInterrupted() ? 1.0 : 0.0};
  numbers.insert(numbers.end(), own.losses.begin(), own.losses.end());
  numbers.insert(numbers.end(), own.weights.begin(), own.weights.end());
  numbers.resize(1 + 2 * model.losses.size());
  std::vector<double> sums = ranks.sum(numbers);
  run.isInterrupted |= sums.front() != 0;
  LossSums all;
  for (size_t i = 0; i < model.losses.size(); ++i)
    all.addSum(i, sums[1 + i], sums[1 + model.losses.size() + i]);
  divisor = all.weights.front();
  if (divisor == 0)
    exchange->discard();
  for (size_t i = 0; i < model.losses.size(); ++i)
    session.losses[i] = static_cast<float>(all.mean(i).value_or(0));
  session.loss = static_cast<float>(all.total(model));
  return all;
}

void UpdateExecutor::combineStages() {
  weights = {updateWeight};
  run.requireCounted(weights);
  takeSums(updateWeight);
  stages->forEach([this](size_t index) { session.parameters.maskGradients(index); });
  stageUpdate->tell(losses.losses.empty() ? 0 : losses.losses.front(), updateWeight);
}

void UpdateExecutor::update() {
  // A segment after the end of all sequences has no loss.
  if (!isSegmented() || hasWeight(weights)) {
    run.requireCounted(weights);
    finishStep();
    for (size_t i = 0; isSegmented() && i < weights.size(); ++i)
      losses.add(i, session.lossOf(i), weights[i]);
    if (!isSegmented() && !stageUpdate)
      addLosses(isSummed);
  }
  ++state.step;
}

void UpdateExecutor::finishStep() {
  run.setHyper();
  if (stageUpdate)
    return stageUpdate->update();
  if (module)
    return updateModule();
  if (!exchange && !isCarried) {
    checkStep();
    session.update();
    return run.startAveraging()(0, session.parameters.gradientCount());
  }
  run.requireFiniteLoss();
  UpdateRule rule{run.stepName(), run.startAveraging(), divisor, settings.clipNorm};
  if (exchange)
    exchange->update(std::move(rule));
  else
    carried->update(std::move(rule));
  // A rate search must end at the diverging step.
  if (run.searchedRate || (exchange && run.options.exchange.hasBarrier()))
    settle();
}

/// Waits for the step. Throws DivergedError if it diverged; sets the clipping scale.
void UpdateExecutor::checkStep() {
  double squares = session.gradientSquares();
  try {
    run.requireFiniteLoss();
    if (!std::isfinite(squares))
      refuseGradients(session, run.stepName());
  } catch (const DivergedError &error) {
    if (!settings.checkNaN)
      throw;
    throw DivergedError(text(error.what(), "; ", describeFirstNaN(session, "step", whole.batch)));
  }
  if (settings.clipNorm)
    session.clipGradients(squares, *settings.clipNorm);
}

void UpdateExecutor::updateModule() {
  const LossInfo &own = model.losses[ranks.rank()];
  if (float loss = session.lossOf(ranks.rank()); !std::isfinite(loss))
    failDiverged(run.stepName(), text("the loss of ", quote(own.output), " is ", loss));
  session.parameters.maskGradients();
  double squares = stages->sumSquares();
  if (!std::isfinite(squares))
    refuseGradients(session, run.stepName());
  if (settings.clipNorm)
    session.clipGradients(ranks.sum({squares}).front(), *settings.clipNorm);
  stages->update(run.startAveraging());
  session.parameters.acceptStatistics();
}

void UpdateExecutor::addLosses(bool fromSums) {
  auto meanOf = [&](size_t i) {
    return fromSums ? losses.mean(i) : std::optional<double>(session.lossOf(i));
  };
  if (module)
    return report(meanOf(ranks.rank()).value_or(0), weights[ranks.rank()]);
  for (size_t i = 0; i < weights.size(); ++i)
    if (std::optional<double> mean = meanOf(i))
      state.losses.add(i, *mean, weights[i]);
}

void UpdateExecutor::report(double loss, double weight) {
  reports.push_back(ranks.startGather({run.observer->isInterrupted() ? 1.0 : 0.0, loss, weight}));
  // Allow twice the latency that keeps all modules busy. A rate search needs each loss.
  takeReports(run.searchedRate ? 0 : 2 * ranks.count());
}

/// Adds reported losses until at most `most` steps are outstanding.
void UpdateExecutor::takeReports(size_t most) {
  while (reports.size() > most) {
    std::vector<std::vector<double>> all = ranks.finishGather(*reports.front());
    reports.pop_front();
    for (size_t i = 0; i < all.size(); ++i) {
      run.isInterrupted |= all[i][0] != 0;
      if (double weight = all[i][2]; weight != 0)
        state.losses.add(i, all[i][1], weight);
    }
  }
}

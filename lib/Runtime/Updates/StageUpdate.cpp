//===- StageUpdate.cpp - Updates of pipeline stages -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/StageUpdate.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>
#include <utility>

using namespace bppsa::runtime;

void StageUpdate::tell(double loss, double weight) {
  receiveOutcome();
  ownSquares = parameters.sumSquares();
  told = run.ranks.startGather({run.observer->isInterrupted() ? 1.0 : 0.0, loss, ownSquares});
  toldStep = run.stepName();
  toldWeight = weight;
}

StageUpdate::Outcome StageUpdate::receive() {
  std::shared_ptr<Ranks::Gathering> gathering = std::exchange(told, nullptr);
  std::vector<std::vector<double>> all = run.ranks.finishGather(*gathering);
  outcomeSeconds = run.ranks.secondsOf(*gathering).value_or(0);
  Outcome outcome;
  for (const std::vector<double> &part : all) {
    run.isInterrupted |= part[0] != 0;
    outcome.squares += part[2];
  }
  outcome.losses.addSum(0, all[run.model.stages.back().rank][1], toldWeight);
  return outcome;
}

void StageUpdate::receiveOutcome() {
  if (!told)
    return;
  Outcome outcome = receive();
  Session &session = run.session;
  std::optional<double> mean = outcome.losses.mean(0);
  session.losses.front() = static_cast<float>(mean.value_or(0));
  session.loss = static_cast<float>(outcome.losses.total(run.model));
  if (mean)
    run.state.losses.add(0, *mean, toldWeight);
  if (!std::isfinite(session.loss))
    failDiverged(toldStep, text("the loss is ", session.loss));
  if (!std::isfinite(outcome.squares))
    refuse();
  squares = outcome.squares;
}

void StageUpdate::update() {
  bool isFirst = run.state.losses.weights.empty();
  average = run.startAveraging();
  // Clipping tends to recur, so wait for the norm.
  bool waits = run.searchedRate || isFirst || (run.settings.clipNorm && wasClipped);
  if (waits)
    receiveOutcome();
  else if (!std::isfinite(ownSquares))
    refuseOwn();
  if (run.settings.clipNorm && !waits)
    return updateAhead();
  clip();
  parameters.update(average);
}

void StageUpdate::clip() {
  if (!run.settings.clipNorm)
    return;
  run.session.clipGradients(squares, *run.settings.clipNorm);
  wasClipped = run.session.hyper[program::kScaleSlot] != 1;
}

bool StageUpdate::isOutcomeNear() const {
  return run.ranks.secondsOf(*told) || outcomeSeconds < keepSeconds;
}

void StageUpdate::updateAhead() {
  if (isOutcomeNear()) {
    receiveOutcome();
    clip();
    if (!wasClipped)
      return parameters.update(average);
    // Other ranks may have updated provisionally and roll back collectively, so first update
    // without clipping.
    run.session.hyper[program::kScaleSlot] = 1;
  }
  double begin = now();
  parameters.keep();
  isKept = true;
  keepSeconds = now() - begin;
  parameters.update(average);
}

bool StageUpdate::validate() {
  receiveOutcome();
  if (!std::exchange(isKept, false))
    return true;
  clip();
  if (!wasClipped)
    return true;
  TraceScope scope(run.ranks.trace(), TraceEvent::Lane::Computing, "rollback");
  parameters.takeBack();
  parameters.update(average);
  return false;
}

/// Other ranks continue until this one ends them.
void StageUpdate::refuseOwn() {
  double loss = receive().losses.mean(0).value_or(0);
  if (!std::isfinite(loss))
    failDiverged(toldStep, text("the loss is ", loss));
  refuseGradients(run.session, toldStep);
}

void StageUpdate::refuse() {
  std::string found;
  try {
    requireFiniteGradients(run.session);
  } catch (const Error &error) {
    found = error.what();
  }
  for (const std::string &part : run.ranks.gather(found))
    if (!part.empty())
      failDiverged(toldStep, part);
  failDiverged(toldStep, "the norm of all gradients is not finite");
}

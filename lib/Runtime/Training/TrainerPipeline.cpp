//===- TrainerPipeline.cpp - Training by the stages of a pipeline ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"
#include "bppsa/Runtime/Training/Trainer.h"

#include <cmath>

using namespace bppsa::runtime;

void Trainer::requireStages() const {
  if (ranks.count() != model.pipelineRanks)
    fail("the program is for ", model.pipelineRanks, " ranks (--pipeline=", model.pipelineRanks,
         "), found ", ranks.count(), "; start it with mpirun -n ", model.pipelineRanks,
         ", or without mpirun");
  if (options.exchange.kind != ExchangeOptions::Kind::AllReduce)
    fail("--exchange: stages of a pipeline exchange no gradients; leave it out");
}

void Trainer::preparePipeline() {
  pipeline = std::make_unique<PipelinedUpdate>(session, ranks, options.pipeline, settings.variant,
                                               groupsOf(model, settings.rateRules));
  if (model.areModules)
    prepareModules();
  else
    // Before anything is trained, it is found out whether there are orders within the memory limit.
    pipeline->prepare(settings.accumulate);
}

void Trainer::runPipelined() {
  int64_t first = state.batch * updateSize();
  int64_t count = countMicrobatches();
  double weight = pipeline->run(
      count, settings.batch, [this] { return data.set->newBatch(capacity()); },
      [&](int64_t number, StagedMicrobatch &microbatch) {
        fill(first + number * settings.batch, microbatch.data.batch);
        microbatch.data.weights = microbatch.data.batch.lossWeights();
        drawSeed(state.step * settings.accumulate + number);
        microbatch.data.seed = session.seed;
      },
      [this] { return validateUpdate(); });
  requireCounted({weight});
  // What other ranks know of the update before is needed here at the latest.
  takeOutcome();
  pipeline->tell(observer->isInterrupted());
  outcomeOf = stepName();
  setHyper();
  updatePipelined();
  ++state.batch;
  ++state.step;
  if (std::string note = pipeline->noteOfUpdate(count); !note.empty())
    observer->note(text("after step ", state.step, ": pipeline ", note));
}

void Trainer::takeOutcome() {
  if (!pipeline->hasOutcome())
    return;
  PipelinedUpdate::Outcome outcome = pipeline->takeOutcome();
  isInterrupted |= outcome.isInterrupted;
  session.losses.front() = static_cast<float>(outcome.losses.mean(0).value_or(0));
  session.loss = static_cast<float>(outcome.losses.total(model));
  addLosses(outcome.losses);
  if (!std::isfinite(session.loss))
    failDiverged(outcomeOf, text("the loss is ", session.loss));
  if (!std::isfinite(outcome.squares))
    pipeline->refuse(outcomeOf);
  normSquares = outcome.squares;
}

/// Updates without waiting for other ranks, where only their numbers would be waited for: a rank
/// finds what is not finite by itself.
void Trainer::updatePipelined() {
  bool isFirst = state.losses.weights.empty();
  averageOfUpdate = startAveraging();
  // Gradients that were too large are likely to be so again.
  bool waits = searchedRate || isFirst || (settings.clipNorm && wasClipped);
  if (waits) {
    takeOutcome();
  } else if (!std::isfinite(pipeline->ownSquares())) {
    // The others go on, and end with this rank.
    double loss = pipeline->takeOutcome().losses.mean(0).value_or(0);
    if (!std::isfinite(loss))
      failDiverged(outcomeOf, text("the loss is ", loss));
    refuseGradients(session, outcomeOf);
  }
  if (settings.clipNorm && !waits)
    return updateAhead();
  clipStages();
  pipeline->update(averageOfUpdate);
}

void Trainer::clipStages() {
  if (!settings.clipNorm)
    return;
  session.clipGradients(normSquares, *settings.clipNorm);
  wasClipped = session.hyper[3] != 1;
}

/// As Zero Bubble validates after the update (Qi et al., ICLR 2024). A rank that ends its step with
/// or behind the others knows all, and need not keep anything.
void Trainer::updateAhead() {
  if (pipeline->isOutcomeNear()) {
    takeOutcome();
    clipStages();
    if (!wasClipped)
      return pipeline->update(averageOfUpdate);
    // The others take their update back, and this rank with them.
    session.hyper[3] = 1;
  }
  pipeline->keep();
  pipeline->update(averageOfUpdate);
}

bool Trainer::validateUpdate() {
  takeOutcome();
  if (!pipeline->isKept())
    return true;
  clipStages();
  if (!wasClipped) {
    pipeline->accept();
    return true;
  }
  TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, "rollback");
  pipeline->takeBack();
  pipeline->update(averageOfUpdate);
  return false;
}

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
  if (ranks.count() != model.stages)
    fail("the program has ", model.stages, " stages (--pipeline=", model.stages, "), found ",
         ranks.count(), " ranks; start it with mpirun -n ", model.stages, ", or without mpirun");
  if (options.exchange.kind != ExchangeOptions::Kind::AllReduce)
    fail("--exchange: stages of a pipeline exchange no gradients; leave it out");
}

void Trainer::preparePipeline() {
  pipeline = std::make_unique<PipelinedUpdate>(session, ranks, options.pipeline, settings.variant,
                                               groupsOf(model, settings.rateRules));
}

void Trainer::runPipelined() {
  int64_t first = state.batch * updateSize();
  int64_t count = (sizeOfBatch(state.batch) + settings.batch - 1) / settings.batch;
  isInterrupted |= observer->isInterrupted();
  LossSums losses = pipeline->run(
      count, [this] { return data.set->newBatch(capacity()); },
      [&](int64_t number, Microbatch &microbatch) {
        fill(first + number * settings.batch, microbatch.batch);
        microbatch.weights = microbatch.batch.lossWeights();
        drawSeed(state.step * settings.accumulate + number);
        return session.seed;
      },
      isInterrupted);
  requireCounted(losses.weights);
  session.losses.front() = static_cast<float>(losses.mean(0).value_or(0));
  session.loss = static_cast<float>(losses.total(model));
  setHyper();
  updatePipelined();
  addLosses(losses);
  ++state.batch;
  ++state.step;
}

void Trainer::updatePipelined() {
  requireFiniteLoss();
  if (!std::isfinite(pipeline->squares()))
    pipeline->refuse(stepName());
  if (settings.clipNorm)
    session.clipGradients(pipeline->squares(), *settings.clipNorm);
  bool restarts = settings.ema && state.averaged++ == 0;
  pipeline->update([&](int64_t start, int64_t size) {
    if (settings.ema && restarts)
      session.parameters.restartAverage(start, size);
    else if (settings.ema)
      session.parameters.addToAverage(*settings.ema, start, size);
  });
}

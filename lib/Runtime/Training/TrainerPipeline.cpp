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
  int64_t count = (sizeOfBatch(state.batch) + settings.batch - 1) / settings.batch;
  isInterrupted |= observer->isInterrupted();
  LossSums losses = pipeline->run(
      count, settings.batch, [this] { return data.set->newBatch(capacity()); },
      [&](int64_t number, Microbatch &microbatch) {
        fill(first + number * settings.batch, microbatch.data.batch);
        microbatch.weights = microbatch.data.batch.lossWeights();
        drawSeed(state.step * settings.accumulate + number);
        microbatch.data.seed = session.seed;
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
  if (std::string note = pipeline->noteOfUpdate(count); !note.empty())
    observer->note(text("after step ", state.step, ": pipeline ", note));
}

void Trainer::updatePipelined() {
  requireFiniteLoss();
  if (!std::isfinite(pipeline->squares()))
    pipeline->refuse(stepName());
  if (settings.clipNorm)
    session.clipGradients(pipeline->squares(), *settings.clipNorm);
  updateStage();
}

void Trainer::updateStage() {
  bool restarts = settings.ema && state.averaged++ == 0;
  pipeline->update([&](int64_t start, int64_t size) {
    if (settings.ema && restarts)
      session.parameters.restartAverage(start, size);
    else if (settings.ema)
      session.parameters.addToAverage(*settings.ema, start, size);
  });
}

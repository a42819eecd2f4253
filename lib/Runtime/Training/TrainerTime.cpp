//===- TrainerTime.cpp - Training with shares of the steps ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Trainer.h"

#include <algorithm>

using namespace bppsa::runtime;

void Trainer::requireTimeShares() const {
  const char *flag = "--shard-time";
  if (!model.hasFunction("shard." + model.variants.front().name))
    fail(flag, ": the program has no functions for shares of the steps; compile the model with ",
         flag);
  requireSegments(model, flag);
  if (settings.tbptt || settings.accumulate > 1)
    fail(flag, ": ranks have shares of whole sequences and of one batch at a time, found ",
         settings.tbptt ? "--tbptt" : "--accumulate", "; leave one of both out");
}

std::string Trainer::stepFunction() const {
  return (timeShard ? "shard." : "step.") + settings.variant;
}

void Trainer::cutTime() {
  int64_t length = TimeShard::lengthFor(data.set->steps().value_or(1), ranks.count());
  segments = std::make_unique<Segments>(session, *data.set, length);
  timeShard = std::make_unique<TimeShard>(session, *segments, ranks);
}

void Trainer::runTimeShard() {
  std::vector<double> weights(model.losses.size());
  // The forward pass reads parameters, and a rank without steps has no gradient.
  settle();
  if (timeShard->hasSteps()) {
    weights = timeShard->runForward(batch);
    timeShard->receiveCotangents(stepFunction());
    compute(weights.front(), /*gives=*/false, [&] { timeShard->runBackward(); });
    timeShard->sendCotangents();
  } else {
    std::fill_n(session.parameters.changeGradients(), session.parameters.gradientCount(), 0.0f);
  }
  combineStep(weights);
  requireCounted(weights);
  finishStep();
  addLosses(weights);
  ++state.batch;
  ++state.step;
}

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
  if (model.isStream())
    requireSegments(model, flag);
  if (settings.tbptt || settings.accumulate > 1)
    fail(flag, ": ranks have shares of whole sequences and of one batch at a time, found ",
         settings.tbptt ? "--tbptt" : "--accumulate", "; leave one of both out");
}

/// Where layers go both ways, the ranks of the later steps begin with the reversed ones.
std::string Trainer::stepKind() const {
  if (!timeShares)
    return "step";
  bool isLate = 2 * ranks.rank() >= timeShares;
  return isLate && model.hasFunction("late_shard." + model.variants.front().name) ? "late_shard"
                                                                                  : "shard";
}

std::string Trainer::stepFunction() const { return stepKind() + "." + settings.variant; }

void Trainer::cutTime() {
  timeShares = TimeShare::filled(data.set->window().all, ranks.count());
  if (!model.isStream()) {
    shardMessages = std::make_unique<ShardMessages>(ranks, timeShares, data.set->window());
    return;
  }
  segments = std::make_unique<Segments>(session, *data.set, data.set->steps().value_or(1));
  timeShard = std::make_unique<TimeShard>(session, *segments, ranks, timeShares);
}

/// What the losses of the steps in the batch count; those of whole sequences are of the last share.
std::vector<double> Trainer::shareWeights() const {
  std::vector<double> weights = ownWeights();
  for (size_t i = 0; i < weights.size(); ++i) {
    bool isOfSteps = model.losses[i].target && model.losses[i].target->timeAxis;
    if (!isOfSteps && ranks.rank() + 1 != timeShares)
      weights[i] = 0;
    else if (isOfSteps && !data.set->isWeighted(i))
      weights[i] *= static_cast<double>(*data.set->steps());
  }
  return weights;
}

void Trainer::runTimeShare() {
  std::vector<double> weights(model.losses.size());
  // The forward pass reads parameters, and a rank without steps has no gradient.
  settle();
  if (ranks.rank() >= timeShares) {
    std::fill_n(session.parameters.changeGradients(), session.parameters.gradientCount(), 0.0f);
  } else if (timeShard) {
    weights = timeShard->runForward(batch);
    timeShard->receiveCotangents(stepFunction());
    compute(weights.front(), /*gives=*/false, [&] { timeShard->runBackward(); });
    timeShard->sendCotangents();
  } else {
    weights = shareWeights();
    drawSeed(state.step);
    compute(weights.front(), /*gives=*/false, [&] {
      ShardPortUse use(*shardMessages);
      steps->start(ownSize);
    });
  }
  combineStep(weights);
  requireCounted(weights);
  finishStep();
  addLosses(weights);
  ++state.batch;
  ++state.step;
}

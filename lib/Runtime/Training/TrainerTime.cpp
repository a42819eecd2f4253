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
  requireShardScans();
  if (settings.tbptt || (settings.accumulate > 1 && model.isStream()))
    fail(flag, ": ranks have shares of whole sequences, of streams of one batch at a time, found ",
         settings.tbptt ? "--tbptt" : "--accumulate", "; leave one of both out");
}

void Trainer::requireShardScans() const {
  if (options.shardBackward != ShardBackward::Exscan)
    return;
  const char *flag = "--shard-backward=exscan";
  if (model.isStream())
    fail(flag, ": cotangents of streams go from rank to rank between steps; leave it out");
  if (model.shardScans.empty())
    fail(flag, ": the program has no functions that scan over ranks; compile the model with "
               "--scan-shards");
  if (options.throttle.isLimited())
    fail(flag, ": MPI scans over the network that there is; leave --throttle out");
}

/// Where layers go both ways, the ranks of the later steps begin with the reversed ones.
std::string Trainer::stepKind() const {
  if (!timeShares)
    return "step";
  bool isLate = 2 * ranks.rank() >= timeShares &&
                model.hasFunction("late_shard." + model.variants.front().name);
  return text(scansShards ? "scan_" : "", isLate ? "late_shard" : "shard");
}

bool Trainer::choosesShardScans() const {
  if (options.shardBackward != ShardBackward::Auto)
    return options.shardBackward == ShardBackward::Exscan;
  return !options.throttle.isLimited() &&
         isScanCheaper(model.shardScans, timeShares, settings.accumulate);
}

std::string Trainer::stepFunction() const { return stepKind() + "." + settings.variant; }

void Trainer::cutTime() {
  timeShares = TimeShare::filled(data.set->window().all, ranks.count());
  if (!model.isStream()) {
    scansShards = choosesShardScans();
    if (scansShards)
      ranks.prepareScans(static_cast<int>(timeShares));
    shardMessages = std::make_unique<ShardMessages>(ranks, timeShares, data.set->window());
    return;
  }
  segments = std::make_unique<Segments>(session, *data.set, data.set->steps().value_or(1));
  timeShard = std::make_unique<TimeShard>(session, *segments, ranks, timeShares);
}

/// Losses of whole sequences are of the last share.
std::vector<double> Trainer::shareWeights(const Batch &batch) const {
  std::vector<double> weights = batch.lossWeights();
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
    weights = shareWeights(batch);
    drawSeed(state.step);
    compute(weights.front(), /*gives=*/false, [&] {
      StepPortsUse use({nullptr, shardMessages.get()});
      steps->start(ownSize);
    });
  }
  finishBatch(weights);
}

void Trainer::runSharedMicrobatches() {
  int64_t first = state.batch * updateSize();
  std::vector<double> sums(session.parameters.gradientCount());
  LossSums losses;
  settle();
  // A rank without steps adds nothing.
  int64_t count = ranks.rank() < timeShares ? countMicrobatches() : 0;
  mail = std::make_unique<StageMail>(ranks, model);
  while (static_cast<int64_t>(sharedMicrobatches.size()) < count) {
    auto &made = sharedMicrobatches.emplace_back(
        new SharedMicrobatch{Microbatch(session, data.set->newBatch(capacity())), nullptr});
    made->call = std::make_unique<StepRun>(session, ranks, *mail, stepFunction(), made->data,
                                           StepPorts{nullptr, shardMessages.get(), exchange.get()});
  }
  for (int64_t number = 0; number < count; ++number) {
    SharedMicrobatch &microbatch = *sharedMicrobatches[number];
    fill(first + number * settings.batch, microbatch.data.batch);
    microbatch.data.weights = shareWeights(microbatch.data.batch);
    drawSeed(state.step * settings.accumulate + number);
    microbatch.data.seed = session.seed;
    TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, text("F ", number));
    exchange->run({microbatch.data.weights.front()}, false, [&] { microbatch.call->start(); });
  }
  for (int64_t number = 0; number < count; ++number) {
    SharedMicrobatch &microbatch = *sharedMicrobatches[number];
    TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, text("B ", number));
    exchange->run({microbatch.data.weights.front()}, false, [&] { microbatch.call->resume(true); });
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += microbatch.data.gradients.floats()[i];
    for (size_t i = 0; i < microbatch.data.weights.size(); ++i)
      losses.add(i, microbatch.data.weights[i] == 0 ? 0 : microbatch.data.lossOf(i),
                 microbatch.data.weights[i]);
  }
  finishBatch(sums, losses);
}

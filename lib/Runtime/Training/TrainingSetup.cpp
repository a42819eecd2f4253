//===- TrainingSetup.cpp - Set up and check a training run ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "NaNSearch.h"
#include "Training/Segments.h"
#include "Training/TrainingRun.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;

TrainingRun::TrainingRun(Session &session, const Options &options, Ranks &ranks, TrainingData given,
                         TrainSettings defaults, int64_t earlier)
    : session(session), program(session.program), model(program.model), options(options),
      ranks(ranks), data(std::move(given)), settings(std::move(defaults)),
      epochs(options.epochs.value_or(1)) {
  auto isTrained = [](const ParameterInfo &info) { return info.trained; };
  if (model.parameters.empty())
    fail("there is nothing to train: ", quote(model.source), " has no float initializers");
  if (std::none_of(model.parameters.begin(), model.parameters.end(), isTrained))
    fail("there is nothing to train: every initializer of ", quote(model.source),
         " is frozen; compile the model with another --freeze");
  if (data.set && data.set->fixedBatch())
    settings.batch = *data.set->fixedBatch();
  state.earlier = earlier;
  resume();
  applyOptions();
  checkOutputs();
  requireShares();
}

void TrainingRun::checkOutputs() const {
  std::vector<const std::string *> earlier;
  for (auto [path, flag] :
       {std::pair(&options.checkpoint, "--checkpoint"), std::pair(&options.save, "--save"),
        std::pair(&options.saveBest, "--save-best"), std::pair(&options.log, "--log"),
        std::pair(&options.trace, "--trace")}) {
    if (path->empty())
      continue;
    if (path != &options.log)
      requireWritable(*path, flag);
    for (const std::string *input : {&options.resume, &options.variant.calibration})
      if (!input->empty() && !(path == &options.checkpoint && input == &options.resume))
        requireDistinct(*path, *input, flag);
    for (const std::optional<Dataset> *set : {&data.set, &data.validationSet})
      for (const std::string &input : *set ? (*set)->paths() : std::vector<std::string>())
        requireDistinct(*path, input, flag);
    for (const std::string *other : earlier)
      if (isSameFile(*path, *other))
        fail(flag, ": ", quote(*path), " is also the file of another option; choose another name");
    earlier.push_back(path);
  }
}

void TrainingRun::resume() {
  if (options.resume.empty()) {
    if (data.set) {
      state.samples = data.set->samples();
      state.fingerprint = data.set->fingerprint();
    }
    return;
  }
  readCheckpoint(options.resume, session, settings, state);
  splitSamples();
  requireSameData();
  requireConsistent();
  // A program with other variants selects its own.
  if (std::none_of(model.variants.begin(), model.variants.end(),
                   [&](const VariantInfo &variant) { return variant.name == settings.variant; }))
    settings.variant.clear();
  requireSame();
}

void TrainingRun::requireSame() const {
  std::string where = quote(options.resume) + ": ";
  auto refuse = [&](const char *flag, auto found, auto expected) {
    if (found && static_cast<int64_t>(*found) != static_cast<int64_t>(expected))
      fail(where, "was written with ", flag, " ", expected, ", found ", flag, " ", *found,
           "; remove ", flag, ", or train without --resume");
  };
  refuse("--batch", options.batch, settings.batch);
  refuse("--seed", options.seed, settings.seed);
  refuse("--tbptt", options.tbptt, settings.tbptt.value_or(0));
  refuse("--shuffle-memory", options.shuffleMemory, settings.shuffleMemory);
  if (options.ema && options.ema != settings.ema)
    fail(where, "was written with ", settings.ema ? text("--ema ", *settings.ema) : "no --ema",
         "; remove --ema, or train without --resume");
  refuse("--accumulate", options.accumulate, settings.accumulate);
  if (options.valSplit && options.valSplit != settings.valSplit)
    fail(where, "was written with --val-split ", settings.valSplit.value_or(0),
         "; remove --val-split, or train without --resume");
  if (settings.valSplit && (data.validationSet || data.validationStream))
    fail(where, "was written with --val-split ", *settings.valSplit,
         "; remove --val, or train without --resume");
  if (!options.shuffle && settings.shuffle)
    fail(where, "was written without --no-shuffle; remove it, or train without --resume");
}

void TrainingRun::requireSameData() const {
  int64_t samples = data.set ? data.set->samples() : 0;
  if (state.samples != samples || state.fingerprint != (data.set ? data.set->fingerprint() : 0))
    fail(quote(options.resume), ": was written while training on other data than ",
         data.set ? data.set->title() : "a loader", " (", state.samples, " samples, found ",
         samples, "); resume with the same data, or train without --resume");
}

/// Checksums do not guarantee consistency.
void TrainingRun::requireConsistent() const {
  try {
    Schedule(settings.schedule);
    requireHyperRanges(settings.hyper, model.optimizer);
    auto count = static_cast<int64_t>(trained.size());
    int64_t perEpoch = settings.batch > 0 ? (count + updateSize() - 1) / updateSize() : 0;
    bool fits = perEpoch > 0 && state.batch <= perEpoch &&
                state.step == (state.epoch * perEpoch + state.batch) * updatesPerBatch();
    // Loaders may vary their number of batches.
    if ((data.set && !fits) || state.history.size() != static_cast<size_t>(state.epoch))
      fail("its contents contradict each other");
  } catch (const Error &error) {
    fail(quote(options.resume), ": is damaged: ", error.what());
  }
}

void TrainingRun::cutBatches(int64_t parts) {
  if (settings.batch % parts != 0)
    fail("--microbatches: found ", parts, ", which does not divide the ", settings.batch,
         " samples of --batch");
  settings.batch /= parts;
  settings.accumulate = parts;
}

void TrainingRun::takeStartSettings() {
  settings.batch = options.batch.value_or(settings.batch);
  settings.seed = options.seed ? static_cast<uint64_t>(*options.seed) : settings.seed;
  settings.shuffle = options.shuffle;
  settings.shuffleMemory = options.shuffleMemory.value_or(settings.shuffleMemory);
  settings.tbptt = options.tbptt;
  settings.accumulate = options.accumulate.value_or(1);
  if (options.microbatches)
    cutBatches(*options.microbatches);
  settings.valSplit = options.valSplit;
  settings.ema = options.ema;
  if (settings.ema)
    session.parameters.keepAverage();
  splitSamples();
}

void TrainingRun::requireFits() const {
  if (settings.checkNaN)
    requireNaNSearch(model);
  if ((settings.patience || !options.saveBest.empty()) && !validates())
    fail("--patience and --save-best need --val or --val-split");
  if (settings.tbptt)
    requireSegments(model, "--tbptt");
  if (settings.accumulate > 1 && model.losses.size() > 1 && data.set && data.set->isWeighted())
    fail("--accumulate: the positions of several losses (", model.lossOutputs(),
         ") have weights, so the gradients of their sum cannot be accumulated; remove --accumulate "
         "or the weights");
  if (int64_t steps = data.set ? data.set->steps().value_or(1) : 0;
      data.set && settings.tbptt && *settings.tbptt > steps)
    fail("--tbptt: found ", *settings.tbptt, ", but the sequences of ", data.set->title(), " have ",
         steps, " steps; expected 1 to ", steps, ", or remove it");
}

void TrainingRun::applyOptions() {
  if (options.resume.empty())
    takeStartSettings();
  settings.checkNaN = options.checkNaN;
  settings.best = options.best.value_or(settings.best);
  if (options.patience)
    settings.patience = options.patience;
  requireFits();
  for (const auto &[key, value] : options.hyper)
    settings.hyper[key] = value;
  if (!options.rateRules.empty())
    settings.rateRules = options.rateRules;
  std::vector<size_t> groups = groupsOf(model, settings.rateRules);
  if (!settings.rateRules.empty())
    session.setRateGroups(groups);
  settings.schedule = options.schedule.value_or(settings.schedule);
  if (options.clipNorm)
    settings.clipNorm = options.clipNorm;
  schedule = Schedule(settings.schedule);
  int64_t count = data.stream ? data.stream->perEpoch().value_or(0)
                              : static_cast<int64_t>(trained.size()),
          size = data.stream ? settings.accumulate : updateSize();
  batchesPerEpoch = (count + size - 1) / size;
  requireBatches();
}

void TrainingRun::requireBatches() {
  if (data.stream)
    requireStreamable();
  if (data.set) {
    data.set->setMemory(settings.shuffleMemory);
    data.set->requireBatches(settings.batch, static_cast<int64_t>(trained.size()));
  }
  if (!validated.empty())
    validationData().requireBatches(settings.batch, static_cast<int64_t>(validated.size()));
}

void TrainingRun::splitSamples() {
  if (data.set)
    trained = data.set->all();
  if (data.validationSet)
    validated = data.validationSet->all();
  if (!settings.valSplit || !data.set)
    return;
  if (hasTimeShards())
    data.wholeSet.emplace(options.data, model, TargetUse::Needed, settings.shuffleMemory);
  int64_t samples = data.set->samples();
  if (settings.shuffle)
    trained = shuffledOrder(settings.seed, /*epoch=*/-1, samples);
  int64_t count = std::llround(*settings.valSplit * samples);
  if (count < 1 || count >= samples)
    fail("--val-split: found ", *settings.valSplit, ", which leaves ", samples - count, " of the ",
         samples, " samples of ", data.set->title(), " to train and ", count,
         " to validate; choose a fraction that leaves at least one sample for each");
  validated.assign(trained.end() - count, trained.end());
  trained.resize(samples - count);
  // Sorted for sequential reads.
  std::sort(trained.begin(), trained.end());
  std::sort(validated.begin(), validated.end());
}

void TrainingRun::requireStreamable() const {
  auto refuse = [](bool isGiven, const char *flag, const char *remedy) {
    if (isGiven)
      fail(flag, ": needs a training set of arrays or files, found a loader of batches; ", remedy);
  };
  refuse(settings.valSplit.has_value(), "--val-split", "give samples of their own as --val");
  refuse(settings.tbptt.has_value(), "--tbptt",
         "let the loader give segments with the states before them, or give whole sequences");
  if (schedule.dependsOnLength() && batchesPerEpoch == 0)
    fail("--lr-schedule: ", quote(settings.schedule), " needs a loader with a length");
}

void TrainingRun::requireShares() const {
  if (options.shardTime)
    requireTimeShares();
  if (ranks.isAlone())
    return;
  if (isPipelined())
    return requireStages();
  auto refuse = [&](auto... what) { fail(text(what...), "; train with one process"); };
  if (model.mixesSamples() && !hasTimeShards())
    refuse("ranks cannot share a batch of ", quote(model.source),
           ": its samples depend on each other");
  if (data.set->fixedBatch() && !hasTimeShards())
    refuse("ranks cannot share a batch of ", quote(model.source),
           ": the model fixes its batch size at ", *data.set->fixedBatch());
  if (model.losses.size() > 1 && data.set->isWeighted())
    refuse("the positions of several losses (", model.lossOutputs(),
           ") have weights, by which the gradients of ranks cannot be put together");
}

void TrainingRun::requireStages() const {
  if (ranks.count() != model.pipelineRanks)
    fail("the program is for ", model.pipelineRanks, " ranks (--pipeline=", model.pipelineRanks,
         "), found ", ranks.count(), "; start it with mpirun -n ", model.pipelineRanks,
         ", or without mpirun");
  if (options.exchange.kind != ExchangeOptions::Kind::AllReduce)
    fail("--exchange: pipeline stages do not exchange gradients; remove it");
}

void TrainingRun::requireTimeShares() const {
  const char *flag = "--shard-time";
  if (!model.hasFunction("shard." + model.variants.front().name))
    fail(flag, ": the program has no functions for shares of the steps; compile the model with ",
         flag);
  if (model.isStream())
    requireSegments(model, flag);
  requireShardScans();
  if (settings.tbptt || (settings.accumulate > 1 && model.isStream()))
    fail(flag, ": ranks have shares of whole sequences, of streams of one batch at a time, found ",
         settings.tbptt ? "--tbptt" : "--accumulate", "; remove one of them");
}

void TrainingRun::requireShardScans() const {
  if (options.shardBackward != ShardBackward::Exscan)
    return;
  const char *flag = "--shard-backward=exscan";
  if (model.isStream())
    fail(flag, ": cotangents of streams move between ranks after each step; remove it");
  if (model.shardScans.empty())
    fail(flag, ": the program has no functions that scan over ranks; compile the model with "
               "--scan-shards");
  if (options.throttle.isLimited())
    fail(flag, ": MPI_Exscan uses the real network; remove --throttle");
}

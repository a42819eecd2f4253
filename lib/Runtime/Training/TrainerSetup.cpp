//===- TrainerSetup.cpp - Before the first step of training -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TrainerRun.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;

Trainer::Trainer(const Program &program, const Options &options)
    : program(program), model(program.model), options(options),
      data(options.data, program.model, TargetUse::Needed,
           options.shuffleMemory.value_or(Dataset::defaultMemory)),
      session(program, true), log(options.log), epochs(options.epochs.value_or(1)) {
  auto isTrained = [](const ParameterInfo &info) { return info.trained; };
  if (std::none_of(model.parameters.begin(), model.parameters.end(), isTrained))
    fail("there is nothing to train: every initializer of ", quote(model.source),
         " is frozen; compile the model with another --freeze");
  if (!options.val.empty())
    validation.emplace(options.val, model, TargetUse::Needed,
                       options.shuffleMemory.value_or(Dataset::defaultMemory));
  settings.hyper = model.hyper;
  if (data.fixedBatch())
    settings.batch = *data.fixedBatch();
  resume();
  applyOptions();
  checkOutputs();
  prepareSteps();
}

void Trainer::checkOutputs() {
  std::vector<const std::string *> earlier;
  for (auto [path, flag] :
       {std::pair(&options.checkpoint, "--checkpoint"), std::pair(&options.save, "--save"),
        std::pair(&options.saveBest, "--save-best"), std::pair(&options.log, "--log")}) {
    if (path->empty())
      continue;
    if (path != &options.log)
      requireWritable(*path, flag);
    for (const std::string *input : {&options.resume, &options.variant.calibration})
      if (!input->empty() && !(path == &options.checkpoint && input == &options.resume))
        requireDistinct(*path, *input, flag);
    for (const Dataset *set : {&data, validation ? &*validation : &data})
      for (const std::string &input : set->paths())
        requireDistinct(*path, input, flag);
    for (const std::string *other : earlier)
      if (isSameFile(*path, *other))
        fail(flag, ": ", quote(*path), " is also the file of another option; choose another name");
    earlier.push_back(path);
  }
}

void Trainer::resume() {
  if (options.resume.empty()) {
    state.samples = data.samples();
    state.fingerprint = data.fingerprint();
    return;
  }
  readCheckpoint(options.resume, session, settings, state);
  splitSamples();
  requireSense();
  // A program with other variants, for another target say, chooses among its own.
  if (std::none_of(model.variants.begin(), model.variants.end(),
                   [&](const VariantInfo &variant) { return variant.name == settings.variant; }))
    settings.variant.clear();
  std::string where = quote(options.resume) + ": ";
  auto refuse = [&](const char *flag, auto found, auto expected) {
    if (found && static_cast<int64_t>(*found) != static_cast<int64_t>(expected))
      fail(where, "was written with ", flag, " ", expected, ", found ", flag, " ", *found,
           "; leave ", flag, " out, or train without --resume");
  };
  refuse("--batch", options.batch, settings.batch);
  refuse("--seed", options.seed, settings.seed);
  refuse("--tbptt", options.tbptt, settings.tbptt.value_or(0));
  refuse("--shuffle-memory", options.shuffleMemory, settings.shuffleMemory);
  if (options.ema && options.ema != settings.ema)
    fail(where, "was written with ", settings.ema ? text("--ema ", *settings.ema) : "no --ema",
         "; leave --ema out, or train without --resume");
  refuse("--accumulate", options.accumulate, settings.accumulate);
  if (options.valSplit && options.valSplit != settings.valSplit)
    fail(where, "was written with --val-split ", settings.valSplit.value_or(0),
         "; leave --val-split out, or train without --resume");
  if (settings.valSplit && !options.val.empty())
    fail(where, "was written with --val-split ", *settings.valSplit,
         "; leave --val out, or train without --resume");
  if (!options.shuffle && settings.shuffle)
    fail(where, "was written without --no-shuffle; leave it out, or train without --resume");
  if (state.samples != data.samples() || state.fingerprint != data.fingerprint())
    fail(where, "was written while training on other data than ", quote(options.data), " (",
         state.samples, " samples, found ", data.samples(),
         "); resume with the same data, or train without --resume");
  if (!options.checkpoint.empty() && isSameFile(options.checkpoint, options.resume))
    kept = position();
}

/// A checkpoint with the right checksums may still hold anything.
void Trainer::requireSense() const {
  try {
    Schedule(settings.schedule);
    requireHyperRanges(settings.hyper, model.optimizer);
    int64_t perEpoch = settings.batch > 0 ? (trainedCount() + updateSize() - 1) / updateSize() : 0;
    if (perEpoch < 1 || state.batch > perEpoch ||
        state.step != (state.epoch * perEpoch + state.batch) * updatesPerBatch() ||
        state.history.size() != static_cast<size_t>(state.epoch))
      fail("its contents contradict each other");
  } catch (const Error &error) {
    fail(quote(options.resume), ": is damaged: ", error.what());
  }
}

void Trainer::applyOptions() {
  if (options.resume.empty()) {
    settings.batch = options.batch.value_or(settings.batch);
    settings.seed = options.seed.value_or(0);
    settings.shuffle = options.shuffle;
    settings.shuffleMemory = options.shuffleMemory.value_or(settings.shuffleMemory);
    settings.tbptt = options.tbptt;
    settings.accumulate = options.accumulate.value_or(1);
    settings.valSplit = options.valSplit;
    settings.ema = options.ema;
    if (settings.ema)
      session.parameters.keepAverage();
    splitSamples();
  }
  data.setMemory(settings.shuffleMemory);
  settings.best = options.best.value_or(settings.best);
  if (options.patience)
    settings.patience = options.patience;
  if ((settings.patience || !options.saveBest.empty()) && validated.empty())
    fail("--patience and --save-best need --val or --val-split");
  if (settings.tbptt)
    requireSegments(model);
  if (settings.accumulate > 1 && model.losses.size() > 1 && data.isWeighted())
    fail("--accumulate: the positions of several losses (", model.lossOutputs(),
         ") have weights, by which the gradients of their sum cannot be put together; leave "
         "--accumulate or the weights out");
  if (settings.tbptt && *settings.tbptt > *data.steps())
    fail("--tbptt: found ", *settings.tbptt, ", but the sequences of ", quote(options.data),
         " have ", *data.steps(), " steps; accepted are 1 to ", *data.steps(), ", or leave it out");
  for (const auto &[key, value] : options.hyper)
    settings.hyper[key] = value;
  if (!options.rateRules.empty())
    settings.rateRules = options.rateRules;
  std::vector<size_t> groups = groupsOf(model, settings.rateRules);
  if (!settings.rateRules.empty())
    session.groupRates(groups);
  settings.schedule = options.schedule.value_or(settings.schedule);
  if (options.clipNorm)
    settings.clipNorm = options.clipNorm;
  schedule = Schedule(settings.schedule);
  batchesPerEpoch = (trainedCount() + updateSize() - 1) / updateSize();
  data.requireBatches(settings.batch, trainedCount());
  if (!validated.empty())
    (validation ? *validation : data).requireBatches(settings.batch, validated.size());
}

void Trainer::splitSamples() {
  trained = data.all();
  if (validation)
    validated = validation->all();
  if (!settings.valSplit)
    return;
  if (settings.shuffle)
    trained = shuffledOrder(settings.seed, /*epoch=*/-1, data.samples());
  int64_t count = std::llround(*settings.valSplit * data.samples());
  if (count < 1 || count >= data.samples())
    fail("--val-split: found ", *settings.valSplit, ", which leaves ", data.samples() - count,
         " of the ", data.samples(), " samples of ", quote(options.data), " to train and ", count,
         " to validate; accepted are shares that leave at least one for each");
  validated.assign(trained.end() - count, trained.end());
  trained.resize(data.samples() - count);
  // The order of the file, as far as it goes.
  std::sort(trained.begin(), trained.end());
  std::sort(validated.begin(), validated.end());
}

int64_t Trainer::updatesPerBatch() const {
  int64_t length = settings.tbptt.value_or(0), sequence = data.steps().value_or(1);
  return length > 0 ? (sequence + length - 1) / length : 1;
}

void Trainer::prepareSteps() {
  batch = data.newBatch(std::min(settings.batch, trainedCount()));
  if (settings.tbptt) {
    segments = std::make_unique<Segments>(session, data, *settings.tbptt);
    std::vector<int64_t> any(std::min(settings.batch, trainedCount()), 0);
    data.gather(any.data(), any.size(), batch);
    segments->restart(batch);
    if (settings.variant.empty() || !options.variant.isAuto())
      settings.variant = chooseVariant(session, options.variant, "step", segments->fill(batch, 0),
                                       epochs * batchesPerEpoch * updatesPerBatch())
                             .variant->name;
    return;
  }
  if (isDeviceProgram() && batchesPerEpoch > 1 && settings.accumulate == 1)
    batch.keepSpares();
  // A run that goes on keeps its variant, and with it its bits.
  if (settings.variant.empty() || !options.variant.isAuto())
    steps.choose(options.variant, settings.batch,
                 std::max<int64_t>(1, epochs * batchesPerEpoch - state.step));
  else
    steps.use(settings.variant, settings.batch);
  settings.variant = steps.variant();
}

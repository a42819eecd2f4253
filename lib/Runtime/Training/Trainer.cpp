//===- Trainer.cpp - The epochs of a training run -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Trainer.h"
#include "Interrupt.h"
#include "Training/Progress.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa::runtime;

/// These functions return false if the observer or the stream ends the run.
bool Trainer::runEpoch() {
  TrainState &state = training.state;
  double before = now() - state.seconds;
  source.beginEpoch();
  updates.beginEpoch();
  std::vector<double> losses;
  for (const EpochRecord &record : state.history)
    losses.push_back(record.valLoss.value_or(record.loss));
  training.plateauScale = training.schedule.plateauScale(losses);
  while (source.findUpdate()) {
    if (training.isStopping()) {
      updates.settle();
      return false;
    }
    int64_t size = training.data.stream ? 0 : training.sizeOfUpdate(state.batch);
    updates.runBatch();
    state.seconds = now() - before;
    training.observer->batchDone(state, state.losses.total(training.model),
                                 training.data.stream ? source.givenSamples : size);
    const std::optional<int64_t> &every = training.options.checkpointEvery;
    if (!every || state.step % *every != 0)
      continue;
    updates.settle();
    files.saveCheckpoint();
  }
  return finishEpoch();
}

bool Trainer::tryEpoch() {
  try {
    return runEpoch();
  } catch (const StreamEnded &) {
    return false;
  }
}

bool Trainer::finishEpoch() {
  updates.settle();
  TrainState &state = training.state;
  const std::vector<LossInfo> &infos = training.model.losses;
  EpochRecord record;
  record.epoch = state.epoch + 1;
  record.loss = state.losses.total(training.model);
  for (size_t i = 0; i < infos.size() && infos.size() > 1; ++i)
    record.losses.push_back({infos[i].output, state.losses.mean(i), std::nullopt, std::nullopt});
  double start = now() - state.seconds;
  if (training.validates() && !validate(record))
    return false;
  record.seconds = now() - start;
  record.loadSeconds = state.loadSeconds;
  // A resumed run may not have performed a step yet.
  record.rate = training.rateAt(std::max<int64_t>(state.step - 1, 0));
  const BatchStream *stream = training.data.stream;
  record.variant = stream ? stream->variant() : training.settings.variant;
  state.history.push_back(record);
  ++state.epoch;
  noteBest(record);
  state.batch = 0;
  state.losses = {};
  state.seconds = state.loadSeconds = 0;
  files.saveCheckpoint();
  files.addToLog();
  isEnough = training.observer->epochDone(record);
  return true;
}

void Trainer::takeStatistics() {
  if (training.ranks.isAlone())
    return;
  for (size_t i = 0; i < training.model.parameters.size(); ++i) {
    const ParameterInfo &info = training.model.parameters[i];
    if (!info.statistic)
      continue;
    auto *values = reinterpret_cast<char *>(training.session.parameters.changeValues(i));
    std::string first = training.ranks.broadcast({values, info.elements * sizeof(float)});
    std::copy(first.begin(), first.end(), values);
  }
}

std::optional<Evaluation> Trainer::evaluateAll() {
  auto isAskedToStop = [this] { return training.observer->isInterrupted(); };
  BatchStream *stream = training.data.validationStream;
  if (!stream)
    return evaluate(training.session, training.validationData(), training.validated,
                    training.settings.batch, training.ranks, isAskedToStop);
  EvaluationSums sums(training.model);
  int64_t number = 0;
  while (const Batch *batch = stream->next()) {
    if (isAskedToStop())
      return std::nullopt;
    std::string what = text("batch ", ++number, " of the validation");
    batch->requireWeight(what);
    stream->compute();
    sums.add(training.session, *batch, what);
  }
  if (number == 0)
    fail("the loader of the validation has no batches");
  return sums.result();
}

bool Trainer::validate(EpochRecord &record) {
  takeStatistics();
  AveragedValues averaged(training.session.parameters);
  std::optional<Evaluation> result = evaluateAll();
  if (!result)
    return false;
  record.valLoss = result->loss;
  record.valAccuracy = result->accuracy;
  for (size_t i = 0; i < record.losses.size(); ++i) {
    record.losses[i].valLoss = result->losses[i].loss;
    record.losses[i].valAccuracy = result->losses[i].accuracy;
  }
  return true;
}

void Trainer::noteBest(const EpochRecord &record) {
  TrainState &state = training.state;
  bool byLoss = training.settings.best == "loss";
  std::optional<double> value = byLoss ? record.valLoss : record.valAccuracy;
  if (!value || (state.best && (byLoss ? *value >= *state.best : *value <= *state.best)))
    return;
  state.best = value;
  state.bestEpoch = record.epoch;
  files.saveBest();
}

bool Trainer::isPatienceOver() const {
  const std::optional<int64_t> &patience = training.settings.patience;
  return patience && training.state.epoch - training.state.bestEpoch >= *patience;
}

RunEnd Trainer::runEpochs() {
  const TrainState &state = training.state;
  if (!state.history.empty())
    files.addToLog();
  while (state.epoch < training.epochs && !isEnough && !isPatienceOver()) {
    if (!tryEpoch()) {
      files.writeTraces();
      files.saveInterrupted();
      return RunEnd::Interrupted;
    }
  }
  if (state.epoch < training.epochs && !isEnough)
    training.observer->note(text("stopped after epoch ", state.epoch, ": epoch ", state.bestEpoch,
                                 " has the best val_", training.settings.best, " of all"));
  if (const std::string &path = training.options.save; !path.empty()) {
    files.saveModel(path);
    training.observer->note("saved " + path);
  }
  files.writeTraces();
  return RunEnd::Done;
}

RunEnd Trainer::run(TrainingObserver &observer) {
  training.observer = &observer;
  observer.showVariant(training.settings.variant);
  training.ranks.setErrorHint(files.describeKept());
  try {
    return runEpochs();
  } catch (const DivergedError &error) {
    // Only rank 0 knows the checkpoint.
    if (!training.ranks.isFirst())
      throw;
    throw DivergedError(text(error.what(), "; ", files.describeKept()));
  } catch (const Error &error) {
    if (!training.ranks.isFirst())
      throw;
    fail(error.what(), "; ", files.describeKept());
  }
}

void Trainer::takeAverage() {
  if (training.settings.ema && training.state.averaged > 0)
    training.session.parameters.exchangeAverage();
}

static Options withoutOutputs(Options options) {
  options.save = options.saveBest = options.checkpoint = options.log = "";
  options.quiet = true;
  return options;
}

int bppsa::runtime::train(const Program &program, const Options &all, Ranks &ranks) {
  const Model &model = program.model;
  requireSamples(model);
  Options options = ranks.isFirst() ? all : withoutOutputs(all);
  Session session(program, true);
  TrainSettings defaults;
  defaults.hyper = model.hyper;
  TrainingData data;
  TimeShardSpec share;
  if (options.shardTime)
    share = {ranks.rank(), ranks.count()};
  data.read(options.data, options.val, model, options, share);
  Trainer trainer(session, options, ranks, std::move(data), defaults);
  Progress progress(trainer.epochCount(), trainer.batchCount(), options.quiet || options.lrFind);
  noteInterrupts();
  auto run = [&] { return options.lrFind ? trainer.searchRate(progress) : trainer.run(progress); };
  // With several ranks, do not unwind: messages use the trainer's memory.
  RunEnd end = ranks.isAlone() ? run() : orExit(run);
  if (end == RunEnd::Interrupted)
    return 128 + notedInterrupt();
  return trainer.hasLostFiles() ? 1 : 0;
}

//===- TrainerRun.cpp - A whole run of training -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/OnnxFile.h"
#include "bppsa/Runtime/Interrupt.h"
#include "bppsa/Runtime/Training/Progress.h"
#include "bppsa/Runtime/Training/Trainer.h"

using namespace bppsa::runtime;

std::string Trainer::position() const {
  return state.batch == 0 ? text("epoch ", state.epoch)
                          : text("epoch ", state.epoch + 1, ", batch ", state.batch);
}

std::string Trainer::describeKept() const {
  return kept.empty()
             ? "nothing was saved"
             : text("the checkpoint ", quote(options.checkpoint), " of ", kept, " is kept");
}

void Trainer::saveCheckpoint() {
  if (options.checkpoint.empty())
    return;
  writeCheckpoint(options.checkpoint, session, settings, state);
  kept = position();
  ranks.setRemedy(describeKept());
}

/// Writes a file beside training, which goes on where that fails; the exit status tells then.
void Trainer::attempt(bool &failed, const std::function<void()> &write) {
  try {
    write();
    failed = false;
  } catch (const Error &error) {
    if (!failed)
      observer->warn(text("error: ", error.what(), "; training goes on"));
    failed = true;
  }
}

void Trainer::interrupted() {
  if (!ranks.isFirst())
    return;
  std::string how = "nothing was saved (--checkpoint FILE would keep the state)";
  try {
    saveCheckpoint();
    if (!options.checkpoint.empty())
      how = "go on with --resume " + options.checkpoint;
  } catch (const Error &error) {
    how = text(error.what(), "; ", describeKept());
    checkpointFailed = true;
  }
  std::string all = batchesPerEpoch ? text(" of ", batchesPerEpoch) : std::string();
  observer->warn(
      text("interrupted in epoch ", state.epoch + 1, " after batch ", state.batch, all, ": ", how));
}

bool Trainer::tryEpoch() {
  try {
    return runEpoch();
  } catch (const StreamEnded &) {
    return false;
  }
}

RunEnd Trainer::run(TrainingObserver &who) {
  observer = &who;
  observer->showVariant(settings.variant);
  ranks.setRemedy(describeKept());
  try {
    if (!state.history.empty())
      attempt(logFailed, [&] { log.add(state.history); });
    while (state.epoch < epochs && !isEnough && !isPatienceOver()) {
      if (!tryEpoch()) {
        writeTraces();
        interrupted();
        return RunEnd::Interrupted;
      }
    }
    if (state.epoch < epochs && !isEnough)
      observer->note(text("stopped after epoch ", state.epoch, ": epoch ", state.bestEpoch,
                          " has the best val_", settings.best, " of all"));
    if (!options.save.empty()) {
      AveragedValues averaged(session.parameters);
      saveOnnx(options.save, model, program.onnx, program.onnxSize, session.parameters);
      observer->note("saved " + options.save);
    }
    writeTraces();
  } catch (const DivergedError &error) {
    // What is kept the first rank knows.
    if (!ranks.isFirst())
      throw;
    throw DivergedError(text(error.what(), "; ", describeKept()));
  } catch (const Error &error) {
    if (!ranks.isFirst())
      throw;
    fail(error.what(), "; ", describeKept());
  }
  return RunEnd::Done;
}

void Trainer::takeAverage() {
  if (settings.ema && state.averaged > 0)
    session.parameters.exchangeAverage();
}

/// The options of a rank that writes nothing.
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
  TimeShare share;
  if (options.shardTime)
    share = {ranks.rank(), ranks.count()};
  data.read(options.data, options.val, model, options, share);
  Trainer trainer(session, options, ranks, std::move(data), defaults);
  Progress progress(trainer.epochCount(), trainer.batchCount(), options.quiet || options.lrFind);
  noteInterrupts();
  auto run = [&] { return options.lrFind ? trainer.searchRate(progress) : trainer.run(progress); };
  // Messages use the memory of the trainer until the process ends.
  RunEnd end = ranks.isAlone() ? run() : orExit(run);
  if (end == RunEnd::Interrupted)
    return 128 + notedInterrupt();
  return trainer.hasLostFiles() ? 1 : 0;
}

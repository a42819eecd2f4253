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
  try {
    if (!state.history.empty())
      attempt(logFailed, [&] { log.add(state.history); });
    while (state.epoch < epochs && !isEnough && !isPatienceOver()) {
      if (!tryEpoch()) {
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
  } catch (const DivergedError &error) {
    throw DivergedError(text(error.what(), "; ", describeKept()));
  } catch (const Error &error) {
    fail(error.what(), "; ", describeKept());
  }
  return RunEnd::Done;
}

void Trainer::takeAverage() {
  if (settings.ema && state.averaged > 0)
    session.parameters.exchangeAverage();
}

int bppsa::runtime::train(const Program &program, const Options &options) {
  const Model &model = program.model;
  requireSamples(model);
  Session session(program, true);
  TrainSettings defaults;
  defaults.hyper = model.hyper;
  Trainer trainer(session, options, TrainingData::read(model, options), defaults);
  Progress progress(trainer.epochCount(), trainer.batchCount(), options.quiet || options.lrFind);
  noteInterrupts();
  RunEnd end = options.lrFind ? trainer.searchRate(progress) : trainer.run(progress);
  if (end == RunEnd::Interrupted)
    return 128 + notedInterrupt();
  return trainer.hasLostFiles() ? 1 : 0;
}

//===- RunFiles.cpp - Output files of a training run ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/RunFiles.h"
#include "Files/OnnxFile.h"
#include "bppsa/Runtime/Error.h"

using namespace bppsa::runtime;

RunFiles::RunFiles(TrainingRun &run, MetricsLog &log) : run(run), log(log) {
  const Options &options = run.options;
  if (!options.resume.empty() && !options.checkpoint.empty() &&
      isSameFile(options.checkpoint, options.resume))
    kept = position();
}

std::string RunFiles::position() const {
  const TrainState &state = run.state;
  return state.batch == 0 ? text("epoch ", state.epoch)
                          : text("epoch ", state.epoch + 1, ", batch ", state.batch);
}

std::string RunFiles::describeKept() const {
  return kept.empty()
             ? "nothing was saved"
             : text("the checkpoint ", quote(run.options.checkpoint), " of ", kept, " is kept");
}

void RunFiles::writeState() {
  if (run.options.checkpoint.empty())
    return;
  writeCheckpoint(run.options.checkpoint, run.session, run.settings, run.state);
  kept = position();
  run.ranks.setErrorHint(describeKept());
}

void RunFiles::attempt(bool &failed, const std::function<void()> &write) {
  try {
    write();
    failed = false;
  } catch (const Error &error) {
    if (!failed)
      run.observer->warn(text("error: ", error.what(), "; training goes on"));
    failed = true;
  }
}

void RunFiles::saveCheckpoint() {
  attempt(checkpointFailed, [this] { writeState(); });
}

void RunFiles::addToLog() {
  attempt(logFailed, [this] { log.add(run.state.history); });
}

void RunFiles::saveBest() {
  if (!run.options.saveBest.empty())
    attempt(bestFailed, [this] { saveModel(run.options.saveBest); });
}

void RunFiles::saveModel(const std::string &path) {
  AveragedValues averaged(run.session.parameters);
  saveOnnx(path, run.model, run.program.onnx, run.program.onnxSize, run.session.parameters);
}

void RunFiles::saveInterrupted() {
  if (!run.ranks.isFirst())
    return;
  std::string how = "nothing was saved (--checkpoint FILE would keep the state)";
  try {
    writeState();
    if (!run.options.checkpoint.empty())
      how = "go on with --resume " + run.options.checkpoint;
  } catch (const Error &error) {
    how = text(error.what(), "; ", describeKept());
    checkpointFailed = true;
  }
  std::string all = run.batchesPerEpoch ? text(" of ", run.batchesPerEpoch) : std::string();
  run.observer->warn(text("interrupted in epoch ", run.state.epoch + 1, " after batch ",
                          run.state.batch, all, ": ", how));
}

void RunFiles::writeTraces() {
  if (run.options.trace.empty())
    return;
  Ranks &ranks = run.ranks;
  // The last sums may still be in flight.
  if (!ranks.isAlone()) {
    ranks.loop().drain();
    ranks.trace().addSeconds("processor of messages", ranks.loop().processorSeconds());
  }
  std::vector<std::string> all = ranks.gather(ranks.trace().toJson(ranks.rank()));
  if (ranks.isFirst())
    writeTrace(run.options.trace, all);
}

//===- Trainer.cpp - The training loop ------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/Trainer.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/OnnxFile.h"
#include "bppsa/Runtime/Interrupt.h"
#include "bppsa/Runtime/Training/Checkpoint.h"
#include "bppsa/Runtime/Training/Metrics.h"
#include "bppsa/Runtime/Training/Progress.h"
#include "bppsa/Runtime/Training/Random.h"
#include "bppsa/Runtime/Training/Schedule.h"
#include "bppsa/Runtime/Training/Segments.h"
#include "bppsa/Runtime/Training/TrainingSteps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

using namespace bppsa::runtime;

namespace {
class Trainer {
public:
  Trainer(const Program &program, const Options &options);
  int run();

private:
  void checkOutputs();
  void resume();
  void requireSense() const;
  void applyOptions();
  void prepareSteps();

  bool runEpoch();
  int64_t sizeOfBatch(int64_t number) const;
  void fill(int64_t number);
  void runBatch();
  /// Steps and updates on the segments of the batch, one after the other.
  void runSegments(int64_t size);
  /// 1, or the number of segments of a sequence.
  int64_t updatesPerBatch() const;
  bool finishEpoch();
  void setHyper();
  void checkStep();
  std::string position() const;
  std::string describeKept() const;
  void saveCheckpoint();
  void attempt(bool &failed, const std::function<void()> &write);
  int interrupted();

  const Program &program;
  const Model &model;
  const Options &options;
  Dataset data;
  std::optional<Dataset> validation;
  Session session;
  TrainSettings settings;
  TrainState state;
  MetricsLog log;
  Schedule schedule{"constant"};
  int64_t epochs, batchesPerEpoch = 1;
  Batch batch;
  /// The samples of this epoch, and the number of the batch that `batch` was filled with ahead of
  /// its time.
  std::vector<int64_t> order;
  std::optional<int64_t> filledAhead;
  TrainingSteps steps{session, data, batch};
  /// Where sequences are cut.
  std::unique_ptr<Segments> segments;
  std::unique_ptr<Progress> progress;
  /// Where training stood when the file of --checkpoint was written; empty: it is not of this run.
  std::string kept;
  /// The last attempt to write the file failed.
  bool checkpointFailed = false, logFailed = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

Trainer::Trainer(const Program &program, const Options &options)
    : program(program), model(program.model), options(options),
      data(options.data, program.model, TargetUse::Needed), session(program, true),
      log(options.log), epochs(options.epochs.value_or(1)) {
  auto trained = [](const ParameterInfo &info) { return info.trained; };
  if (std::none_of(model.parameters.begin(), model.parameters.end(), trained))
    fail("there is nothing to train: every initializer of ", quote(model.source),
         " is frozen; compile the model with another --freeze");
  if (!options.val.empty())
    validation.emplace(options.val, model, TargetUse::Needed);
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
  for (auto [path, flag] : {std::pair(&options.checkpoint, "--checkpoint"),
                            std::pair(&options.save, "--save"), std::pair(&options.log, "--log")}) {
    if (path->empty())
      continue;
    if (path != &options.log)
      requireWritable(*path, flag);
    for (const std::string *input :
         {&options.data, &options.val, &options.resume, &options.variant.calibration})
      if (!input->empty() && !(path == &options.checkpoint && input == &options.resume))
        requireDistinct(*path, *input, flag);
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
    int64_t perEpoch =
        settings.batch > 0 ? (state.samples + settings.batch - 1) / settings.batch : 0;
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
    settings.tbptt = options.tbptt;
  }
  if (settings.tbptt)
    requireSegments(model);
  for (const auto &[key, value] : options.hyper)
    settings.hyper[key] = value;
  settings.schedule = options.schedule.value_or(settings.schedule);
  if (options.clipNorm)
    settings.clipNorm = options.clipNorm;
  schedule = Schedule(settings.schedule);
  batchesPerEpoch = (data.samples() + settings.batch - 1) / settings.batch;
  data.requireBatches(settings.batch);
  if (validation)
    validation->requireBatches(settings.batch);
}

int64_t Trainer::updatesPerBatch() const {
  int64_t length = settings.tbptt.value_or(0), sequence = data.steps().value_or(1);
  return length > 0 ? (sequence + length - 1) / length : 1;
}

void Trainer::prepareSteps() {
  batch = data.newBatch(std::min(settings.batch, data.samples()));
  if (settings.tbptt) {
    segments = std::make_unique<Segments>(session, *data.steps(), *settings.tbptt);
    std::vector<int64_t> any(std::min(settings.batch, data.samples()), 0);
    data.gather(any.data(), any.size(), batch);
    segments->restart(batch);
    if (settings.variant.empty() || !options.variant.isAuto())
      settings.variant = chooseVariant(session, options.variant, "step", segments->fill(batch, 0),
                                       epochs * batchesPerEpoch * updatesPerBatch())
                             .variant->name;
    return;
  }
  if (isDeviceProgram() && batchesPerEpoch > 1)
    batch.keepSpares();
  // A run that goes on keeps its variant, and with it its bits.
  if (settings.variant.empty() || !options.variant.isAuto())
    steps.choose(options.variant, settings.batch,
                 std::max<int64_t>(1, epochs * batchesPerEpoch - state.step));
  else
    steps.use(settings.variant, settings.batch);
  settings.variant = steps.variant();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Trainer::setHyper() {
  auto value = [&](const char *key) {
    auto found = settings.hyper.find(key);
    return found == settings.hyper.end() ? 0.0 : found->second;
  };
  session.hyper[0] =
      static_cast<float>(schedule.rate(value("lr"), state.step, batchesPerEpoch * updatesPerBatch(),
                                       epochs * batchesPerEpoch * updatesPerBatch()));
  session.hyper[1] = static_cast<float>(value("weight_decay"));
  session.hyper[2] = static_cast<float>(state.step + 1);
  session.hyper[3] = 1;
  session.hyper[4] = static_cast<float>(value("beta1"));
  session.hyper[5] = static_cast<float>(value("beta2"));
  session.hyper[6] = static_cast<float>(value("eps"));
}

/// Waits for the step. Stops at numbers that are not finite and sets the gradient's scale.
void Trainer::checkStep() {
  double squares = session.gradientSquares();
  try {
    if (!std::isfinite(session.loss))
      fail("the loss is ", session.loss);
    if (!std::isfinite(squares))
      requireFiniteGradients(session);
  } catch (const Error &error) {
    fail("epoch ", state.epoch + 1, ", batch ", state.batch + 1, " (step ", state.step + 1,
         "): ", error.what(), "; use a smaller --lr or --clip-norm");
  }
  double norm = std::sqrt(squares);
  // The small addend, and with it every bit, is that of torch.nn.utils.clip_grad_norm_.
  if (settings.clipNorm)
    session.hyper[3] = static_cast<float>(std::min(1.0, *settings.clipNorm / (norm + 1e-6)));
}

int64_t Trainer::sizeOfBatch(int64_t number) const {
  return std::min(settings.batch, data.samples() - number * settings.batch);
}

void Trainer::fill(int64_t number) {
  data.gather(order.data() + number * settings.batch, sizeOfBatch(number), batch);
}

void Trainer::runSegments(int64_t size) {
  double sum = 0;
  segments->restart(batch);
  for (int64_t number = 0; number < segments->count(); ++number) {
    session.seed = static_cast<int64_t>(stepSeed(settings.seed, state.step));
    segments->run("step." + settings.variant, batch, number);
    setHyper();
    checkStep();
    session.update();
    sum += static_cast<double>(session.loss) * segments->stepsOf(number);
    ++state.step;
  }
  state.lossSum += sum / *data.steps() * size;
  ++state.batch;
}

void Trainer::runBatch() {
  if (filledAhead != state.batch)
    fill(state.batch);
  int64_t size = sizeOfBatch(state.batch);
  if (segments)
    return runSegments(size);
  session.seed = static_cast<int64_t>(stepSeed(settings.seed, state.step));
  std::string change = steps.start(size);
  // While a device works on this batch, the next one is put together and copied.
  if (isDeviceProgram() && state.batch + 1 < batchesPerEpoch) {
    filledAhead = state.batch + 1;
    fill(*filledAhead);
    batch.copyAhead();
  }
  setHyper();
  checkStep();
  session.update();
  state.lossSum += static_cast<double>(session.loss) * size;
  ++state.batch;
  ++state.step;
  if (!change.empty()) {
    progress->note(text("after step ", state.step, ": ", change));
    progress->showVariant(settings.variant = steps.variant());
  }
}

/// Returns false when a signal asks to stop.
bool Trainer::runEpoch() {
  double before = now() - state.seconds;
  order.resize(data.samples());
  if (settings.shuffle)
    order = shuffledOrder(settings.seed, state.epoch, data.samples());
  else
    std::iota(order.begin(), order.end(), 0);
  filledAhead.reset();
  while (state.batch < batchesPerEpoch) {
    if (notedInterrupt())
      return false;
    int64_t first = state.batch * settings.batch, size = sizeOfBatch(state.batch);
    runBatch();
    state.seconds = now() - before;
    progress->batchDone(state, state.lossSum / (first + size), size);
    if (options.checkpointEvery && state.step % *options.checkpointEvery == 0)
      attempt(checkpointFailed, [&] { saveCheckpoint(); });
  }
  return finishEpoch();
}

bool Trainer::finishEpoch() {
  EpochRecord record;
  record.epoch = state.epoch + 1;
  record.loss = state.lossSum / data.samples();
  double start = now() - state.seconds;
  if (validation) {
    std::optional<Evaluation> result =
        evaluate(session, *validation, settings.batch, [] { return notedInterrupt() != 0; });
    if (!result)
      return false;
    record.valLoss = result->loss;
    record.valAccuracy = result->accuracy;
  }
  record.seconds = now() - start;
  state.history.push_back(record);
  ++state.epoch;
  state.batch = 0;
  state.lossSum = state.seconds = 0;
  attempt(checkpointFailed, [&] { saveCheckpoint(); });
  attempt(logFailed, [&] { log.add(state.history); });
  progress->epochDone(record);
  return true;
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

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
      progress->warn(text("error: ", error.what(), "; training goes on"));
    failed = true;
  }
}

int Trainer::interrupted() {
  std::string how = "nothing was saved (--checkpoint FILE would keep the state)";
  try {
    saveCheckpoint();
    if (!options.checkpoint.empty())
      how = "go on with --resume " + options.checkpoint;
  } catch (const Error &error) {
    how = text(error.what(), "; ", describeKept());
  }
  progress->warn(text("interrupted in epoch ", state.epoch + 1, " after batch ", state.batch,
                      " of ", batchesPerEpoch, ": ", how));
  return 128 + notedInterrupt();
}

int Trainer::run() {
  progress = std::make_unique<Progress>(epochs, batchesPerEpoch, options.quiet);
  progress->showVariant(settings.variant);
  noteInterrupts();
  try {
    if (!state.history.empty())
      attempt(logFailed, [&] { log.add(state.history); });
    while (state.epoch < epochs)
      if (!runEpoch())
        return interrupted();
    if (!options.save.empty()) {
      saveOnnx(options.save, model, program.onnx, program.onnxSize, session.parameters);
      progress->note("saved " + options.save);
    }
  } catch (const Error &error) {
    fail(error.what(), "; ", describeKept());
  }
  return checkpointFailed || logFailed ? 1 : 0;
}

int bppsa::runtime::train(const Program &program, const Options &options) {
  requireSamples(program.model);
  return Trainer(program, options).run();
}

//===- EmbeddedTraining.cpp - Training in another process -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Metrics.h"
#include "Training/Trainer.h"
#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa::runtime;

/// Seconds between callbacks during an epoch.
static constexpr double kInterval = 0.05;

class EmbeddedProgram::CallerBatches final : public BatchStream {
public:
  CallerBatches(EmbeddedProgram &program, const char *function, const TrainingSource &source)
      : program(program), function(function), source(source) {}

  std::optional<int64_t> perEpoch() const override { return source.batches; }

  const Batch *next() override {
    BatchState state = source.next(arguments);
    if (state == BatchState::RunEnd)
      throw StreamEnded();
    if (state == BatchState::EpochEnd)
      return nullptr;
    call = &program.prepare(function, arguments, LossArrays::Needed);
    return &call->arrays();
  }

  void compute() override { call->run(); }

  std::string variant() const override {
    return call->function().substr(std::min(function.size() + 1, call->function().size()));
  }

private:
  EmbeddedProgram &program;
  const std::string function;
  const TrainingSource &source;
  ArrayArguments arguments;
  EmbeddedCall *call = nullptr;
};

namespace {
class CallerObserver final : public TrainingObserver {
public:
  CallerObserver(const Trainer &trainer, const TrainingCallback &callback, int64_t &steps)
      : callback(callback), steps(steps) {
    event.epochs = trainer.epochCount();
    if (trainer.batchCount())
      event.batches = trainer.batchCount();
    place(trainer.current());
  }

  void showVariant(const std::string &) override {}
  void showRate(double value) override { event.rate = value; }

  void batchDone(const TrainState &state, double loss, int64_t) override {
    event.loss = loss;
    place(state);
  }

  bool epochDone(const EpochRecord &record) override {
    event.epoch = record.epoch;
    event.loss = record.loss;
    event.record = toJson(record).dump();
    bool ends = call();
    event.record.clear();
    ++event.epoch;
    event.batch = 0;
    return ends || isStopped;
  }

  void note(const std::string &line) override { tell(line, false); }
  void warn(const std::string &line) override { tell(line, true); }

  bool isInterrupted() override {
    if (now() - last >= kInterval)
      isStopped |= call();
    return isStopped;
  }

private:
  void place(const TrainState &state) {
    event.epoch = state.epoch + 1;
    event.batch = state.batch;
    event.step = state.step;
    // The callback may make calls.
    steps = state.earlier + state.step;
  }

  bool call() {
    bool ends = callback && callback(event);
    last = now();
    return ends;
  }

  void tell(const std::string &line, bool isWarning) {
    event.message = line;
    event.isWarning = isWarning;
    isStopped |= call();
    event.message.clear();
    event.isWarning = false;
  }

  const TrainingCallback &callback;
  int64_t &steps;
  TrainingEvent event;
  double last = 0;
  bool isStopped = false;
};

class TrainingMark {
public:
  TrainingMark(bool &flag, Session &session) : flag(flag), session(session) {
    if (flag)
      throw UsageError("the program is training already; a callback cannot train it");
    flag = true;
  }
  ~TrainingMark() {
    session.parameters.dropAverage();
    session.clearRateGroups();
    flag = false;
  }
  TrainingMark(const TrainingMark &) = delete;

private:
  bool &flag;
  Session &session;
};
} // namespace

TrainSettings EmbeddedProgram::trainingDefaults() const {
  TrainSettings settings;
  settings.hyper = hyper;
  settings.seed = seed;
  if (clipNorm > 0)
    settings.clipNorm = clipNorm;
  return settings;
}

static TrainingData readData(const Model &model, const Options &options,
                             const TrainingSource &train, const TrainingSource &validation) {
  for (auto [source, path, flag] :
       {std::tuple(&train, &options.data, "data"), std::tuple(&validation, &options.val, "val")})
    if (source->isGiven() && !path->empty())
      throw UsageError(text("there are arrays and the file ", quote(*path), " of ", flag));
  if (!train.isGiven() && options.data.empty())
    throw UsageError("there is nothing to train on: neither arrays nor a loader nor a file");
  TrainingData data;
  data.read(options.data, options.val, model, options);
  data.read(train.arrays, validation.arrays, model, options);
  return data;
}

void EmbeddedProgram::fit(const TrainingWords &words, const TrainingSource &train,
                          const TrainingSource &validation, const TrainingCallback &callback) {
  TrainingMark mark(isTraining, *session);
  requireSamples(model());
  Options options = parseSettings(words, model(), validation.isGiven());
  if (options.variant.isAuto())
    options.variant = request;
  TrainingData data = readData(model(), options, train, validation);
  CallerBatches batches(*this, "step", train), validationBatches(*this, "eval", validation);
  data.stream = train.next ? &batches : nullptr;
  data.validationStream = validation.next ? &validationBatches : nullptr;
  Ranks alone(/*isTraced=*/false);
  Trainer trainer(*session, options, alone, std::move(data), trainingDefaults(), steps);
  CallerObserver observer(trainer, callback, steps);
  try {
    trainer.run(observer);
  } catch (...) {
    trainer.takeAverage();
    throw;
  }
  trainer.takeAverage();
  if (trainer.hasLostFiles())
    fail("training went on to its end, but not all of its files could be written");
}

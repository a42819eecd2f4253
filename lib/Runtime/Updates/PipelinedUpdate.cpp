//===- PipelinedUpdate.cpp - Updates by the stages of a pipeline ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/PipelinedUpdate.h"
#include "Updates/DeferredUpdate.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace bppsa;
using namespace bppsa::runtime;

static std::string stageFunction(const std::string &variant, size_t stage) {
  return text("step.", variant, ".stage", stage);
}

/// Whether nothing is left to do for the microbatch in the stage.
static bool isLast(schedule::PipelineOp op) {
  return op.kind == schedule::OpKind::W || op.kind == schedule::OpKind::BW;
}

PipelinedUpdate::PipelinedUpdate(Session &session, Ranks &ranks, const PipelineOptions &options,
                                 const std::string &variant, const std::vector<size_t> &groups)
    : session(session), model(session.program.model), ranks(ranks), variant(variant),
      orders(ranks, model, options), mail(ranks, model),
      gradientSums(Buffer::uninitialized(session.parameters.gradientCount() * sizeof(double))) {
  findOwners();
  findShared();
  session.splitUpdates(groups);
  if (orders.wantsTimes())
    times = std::make_unique<PipelineTimes>(ranks, model);
}

/// A stage has the parameters whose gradients its function computes.
void PipelinedUpdate::findOwners() {
  owned.resize(model.stages.size());
  statistics.resize(model.stages.size());
  for (size_t stage = 0; stage < model.stages.size(); ++stage) {
    const std::vector<std::string> &arguments = model.functions.at(stageFunction(variant, stage));
    auto has = [&](const std::string &word) {
      return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
    };
    for (size_t index = 0, number = 0; index < model.parameters.size(); ++index) {
      const ParameterInfo &info = model.parameters[index];
      if (info.statistic && has("updated:" + info.name))
        statistics[stage].push_back(index);
      if (info.trained && has("grad:" + info.name))
        owned[stage].push_back({number, index});
      number += info.trained;
    }
  }
}

void PipelinedUpdate::findShared() {
  for (int from = 0; from < ranks.count(); ++from)
    forEachOwned(from, [&](const Owned &own) {
      for (const StageInfo &stage : model.stages)
        if (stage.rank != from && std::count(stage.reads.begin(), stage.reads.end(),
                                             model.parameters[own.index].name) > 0)
          shared.insert({from, stage.rank, own.index});
    });
}

/// Visits the trained parameters of the stages of `rank`.
template <typename Visit> void PipelinedUpdate::forEachOwned(int rank, Visit visit) const {
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    if (model.stages[stage].rank == rank)
      std::for_each(owned[stage].begin(), owned[stage].end(), visit);
}

std::string PipelinedUpdate::prepare(int64_t count) {
  orders.of(count);
  return orders.describe(count);
}

//===----------------------------------------------------------------------===//
// Microbatches
//===----------------------------------------------------------------------===//

StagedMicrobatch &PipelinedUpdate::takeFree(const std::function<Batch()> &makeBatch) {
  if (free.empty()) {
    StagedMicrobatch &made = *microbatches.emplace_back(std::make_unique<StagedMicrobatch>());
    made.data.batch = makeBatch();
    made.data.gradients = Buffer::uninitialized(session.parameters.gradientCount() * sizeof(float));
    for (size_t stage = 0; stage < model.stages.size(); ++stage)
      if (isOwn(stage))
        made.steps[static_cast<int>(stage)] = std::make_unique<StepRun>(
            session, ranks, mail, stageFunction(variant, stage), made.data);
    free.push_back(&made);
  }
  StagedMicrobatch &taken = *free.back();
  free.pop_back();
  taken.open = taken.steps.size();
  return taken;
}

/// In traces: the part, the microbatch and, where a rank has several, the stage.
std::string PipelinedUpdate::nameOf(schedule::PipelineOp op) const {
  const char *part = op.kind == schedule::OpKind::F   ? "F "
                     : op.kind == schedule::OpKind::W ? "W "
                                                      : "B ";
  std::string name = text(part, op.microbatch);
  bool isOnly = static_cast<int64_t>(model.stages.size()) == model.pipelineRanks;
  return isOnly ? name : text(name, " of ", op.stage);
}

void PipelinedUpdate::runPart(schedule::PipelineOp op, StagedMicrobatch &microbatch, int64_t size) {
  TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, nameOf(op));
  if (!microbatch.counts())
    return;
  StepRun &step = *microbatch.steps.at(op.stage);
  mail.begin(partOf(op, microbatch));
  double begin = now(), waited = step.waited();
  if (op.kind == schedule::OpKind::F)
    step.start();
  else
    step.resume(/*toEnd=*/op.kind != schedule::OpKind::B);
  if (isLast(op)) {
    addGradients(op.stage, microbatch, sums.stages.insert(op.stage).second);
    for (size_t index : statistics[op.stage])
      session.parameters.acceptStatistic(index);
    if (static_cast<size_t>(op.stage) + 1 == model.stages.size())
      sums.loss += microbatch.data.loss * microbatch.data.weights.front();
  }
  if (!times || microbatch.data.batch.samples != size)
    return;
  times->add(op, now() - begin - (step.waited() - waited));
  for (auto [to, bytes] : step.sentBytes())
    times->noteBytes(op.stage, to, bytes);
}

/// Adds what a microbatch leaves in a stage to the sums; those of its first one begin at zero.
void PipelinedUpdate::addGradients(int stage, const StagedMicrobatch &microbatch, bool isFirst) {
  auto *sums = reinterpret_cast<double *>(gradientSums.data());
  double weight = microbatch.data.weights.front();
  const float *gradients = microbatch.data.gradients.floats();
  for (const Owned &owned : owned[stage]) {
    int64_t start = session.parameters.start(owned.index);
    int64_t end = start + model.parameters[owned.index].elements;
    if (isFirst)
      for (int64_t i = start; i < end; ++i)
        sums[i] = 0.0 + weight * gradients[i];
    else
      for (int64_t i = start; i < end; ++i)
        sums[i] += weight * gradients[i];
  }
}

/// Operations whose messages may arrive before their turn.
static constexpr size_t opsAhead = 2;

/// Whether the messages of an operation may arrive from here on.
bool PipelinedUpdate::expect(schedule::PipelineOp op, const StagedMicrobatch &microbatch) {
  return !microbatch.counts() || mail.expect(partOf(op, microbatch));
}

/// Runs what may run before the last update is validated. Returns how many operations that were, 0
/// where they count nothing, since the update has changed.
size_t PipelinedUpdate::runAhead(int64_t count,
                                 const std::function<void(size_t begin, size_t end)> &runOps,
                                 const std::function<void(size_t i)> &drop,
                                 const std::function<bool()> &validate) {
  size_t ahead = orders.ahead(count);
  mail.beginTrial();
  runOps(0, ahead);
  bool isValid = validate();
  for (size_t i = 0; i < ahead && !isValid; ++i)
    drop(i);
  mail.endTrial(isValid);
  return isValid ? ahead : 0;
}

double PipelinedUpdate::run(int64_t count, int64_t size, const std::function<Batch()> &makeBatch,
                            const Fill &fill, const std::function<bool()> &validate) {
  sums = {};
  std::vector<StagedMicrobatch *> working;
  auto find = [&](schedule::PipelineOp op) -> StagedMicrobatch & {
    while (static_cast<int64_t>(working.size()) <= op.microbatch) {
      StagedMicrobatch &next = takeFree(makeBatch);
      fill(static_cast<int64_t>(working.size()), next);
      sums.weight += next.data.weights.front();
      working.push_back(&next);
    }
    return *working[op.microbatch];
  };
  const std::vector<schedule::PipelineOp> &ops = orders.of(count);
  auto runOps = [&](size_t begin, size_t end) {
    for (size_t i = begin, numExpected = begin; i < end; ++i) {
      schedule::PipelineOp op = ops[i];
      StagedMicrobatch &microbatch = find(op);
      numExpected = std::max(numExpected, i);
      while (numExpected < std::min(i + 1 + opsAhead, end) &&
             expect(ops[numExpected], find(ops[numExpected])))
        ++numExpected;
      runPart(op, microbatch, size);
      if (isLast(op) && --microbatch.open == 0)
        free.push_back(&microbatch);
    }
  };
  auto drop = [&](size_t i) { find(ops[i]).steps.at(ops[i].stage)->drop(); };
  runOps(isProvisional ? runAhead(count, runOps, drop, validate) : 0, ops.size());
  finish();
  return sums.weight;
}

double PipelinedUpdate::sumSquares() {
  double sum = 0;
  forEachOwned(ranks.rank(), [&](const Owned &own) { sum += session.squaresOfOne(own.number); });
  return sum;
}

/// Makes sums over microbatches the gradients.
void PipelinedUpdate::finish() {
  squares = 0;
  if (sums.weight == 0)
    return;
  float *gradients = session.parameters.changeGradients();
  const auto *all = reinterpret_cast<const double *>(gradientSums.data());
  forEachOwned(ranks.rank(), [&](const Owned &own) {
    int64_t start = session.parameters.start(own.index);
    int64_t end = start + model.parameters[own.index].elements;
    for (int64_t i = start; i < end; ++i)
      gradients[i] = static_cast<float>(all[i] / sums.weight);
    session.parameters.maskGradients(own.index);
  });
  squares = sumSquares();
}

void PipelinedUpdate::tell(bool isInterrupted) {
  told = ranks.startGather({isInterrupted ? 1.0 : 0.0, sums.loss, squares});
  toldWeight = sums.weight;
}

PipelinedUpdate::Outcome PipelinedUpdate::takeOutcome() {
  std::shared_ptr<Ranks::Gathering> gathering = std::exchange(told, nullptr);
  std::vector<std::vector<double>> all = ranks.finishGather(*gathering);
  outcomeSeconds = ranks.secondsOf(*gathering).value_or(0);
  Outcome outcome;
  for (const std::vector<double> &part : all) {
    outcome.isInterrupted |= part[0] != 0;
    outcome.squares += part[2];
  }
  outcome.losses.addSum(0, all[model.stages.back().rank][1], toldWeight);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void PipelinedUpdate::update(const std::function<void(int64_t start, int64_t size)> &average) {
  isSettled = false;
  forEachOwned(ranks.rank(), [&](const Owned &own) {
    session.updateOne(own.number);
    average(session.parameters.start(own.index), model.parameters[own.index].elements);
  });
  shareValues();
}

/// Gives the new values of parameters to stages of other ranks that read them.
void PipelinedUpdate::shareValues() {
  constexpr const char *what = "tied parameters";
  for (const Shared &each : shared) {
    size_t size = model.parameters[each.index].elements * sizeof(float);
    if (ranks.rank() == each.from)
      ranks.send(each.to,
                 {reinterpret_cast<const char *>(session.parameters.values(each.index)), size},
                 what);
    else if (ranks.rank() == each.to)
      ranks.receive(each.from, session.parameters.changeValues(each.index), size, what);
  }
}

bool PipelinedUpdate::isOutcomeNear() const {
  return ranks.secondsOf(*told) || outcomeSeconds < keepSeconds;
}

void PipelinedUpdate::keep() {
  double begin = now();
  // The memory is that of the last time.
  kept.clear();
  forEachArrayOf(ranks.rank(), [&](const char *array, size_t size) { kept.append(array, size); });
  isProvisional = true;
  keepSeconds = now() - begin;
}

void PipelinedUpdate::takeBack() {
  unpack(ranks.rank(), kept);
  isProvisional = false;
}

std::string PipelinedUpdate::noteOfUpdate(int64_t count) {
  if (!times || !times->endUpdate(count))
    return "";
  orders.setTimes(times->gather());
  times.reset();
  return prepare(count);
}

void PipelinedUpdate::refuse(const std::string &where) {
  std::string found;
  try {
    requireFiniteGradients(session);
  } catch (const Error &error) {
    found = error.what();
  }
  for (const std::string &part : ranks.gather(found))
    if (!part.empty())
      failDiverged(where, part);
  failDiverged(where, "the norm of all gradients is not finite");
}

//===----------------------------------------------------------------------===//
// Parameters of all stages
//===----------------------------------------------------------------------===//

/// Calls `visit` with the arrays of a trained parameter: values, optimizer states and the average.
template <typename Visit>
static void forEachArray(Parameters &parameters, size_t index, Visit visit) {
  visit(parameters.changeValues(index));
  for (size_t which = 0; which < parameters.stateCount(); ++which)
    visit(parameters.changeState(which, index));
  if (parameters.hasAverage())
    visit(parameters.changeAverage(index));
}

/// The same for those of the stages of `rank` and their running statistics, with the bytes of each.
template <typename Visit> void PipelinedUpdate::forEachArrayOf(int rank, Visit visit) {
  auto bytesOf = [&](size_t index) { return model.parameters[index].elements * sizeof(float); };
  forEachOwned(rank, [&](const Owned &own) {
    forEachArray(session.parameters, own.index,
                 [&](float *array) { visit(reinterpret_cast<char *>(array), bytesOf(own.index)); });
  });
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    if (model.stages[stage].rank == rank)
      for (size_t index : statistics[stage])
        visit(reinterpret_cast<char *>(session.parameters.changeValues(index)), bytesOf(index));
}

std::string PipelinedUpdate::pack(int rank) {
  std::string bytes;
  forEachArrayOf(rank, [&](const char *array, size_t size) { bytes.append(array, size); });
  return bytes;
}

void PipelinedUpdate::unpack(int rank, const std::string &bytes) {
  const char *next = bytes.data();
  forEachArrayOf(rank, [&](char *array, size_t size) {
    memcpy(array, next, size);
    next += size;
  });
}

void PipelinedUpdate::settle() {
  if (isSettled)
    return;
  isSettled = true;
  std::vector<std::string> all = ranks.gather(pack(ranks.rank()), "parameters");
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      unpack(rank, all[rank]);
}

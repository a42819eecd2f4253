//===- PipelinedUpdate.cpp - Updates by the stages of a pipeline ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/PipelinedUpdate.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/ExchangedUpdate.h"
#include "bppsa/Schedule/PipelineOrders.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

using namespace bppsa;
using namespace bppsa::runtime;

static std::string stageFunction(const std::string &variant, int stage) {
  return text("step.", variant, ".stage", stage);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static schedule::DeviceOrders ordersOf(PipelineOptions::Kind kind,
                                       const schedule::Pipeline &pipeline) {
  constexpr double noLimit = std::numeric_limits<double>::infinity();
  switch (kind) {
  case PipelineOptions::Kind::GPipe:
    return schedule::orderGPipe(pipeline);
  case PipelineOptions::Kind::OneForwardOneBackward:
    return schedule::orderOneForwardOneBackward(pipeline);
  case PipelineOptions::Kind::ZeroBubbleH1:
    return schedule::orderZeroBubble(pipeline, schedule::kZeroBubbleH1, noLimit);
  case PipelineOptions::Kind::ZeroBubbleH2:
    return schedule::orderZeroBubble(pipeline, schedule::kZeroBubbleH2, noLimit);
  }
  return {};
}

const std::vector<schedule::PipelineOp> &PipelinedUpdate::orderOf(int64_t count) {
  auto found = orders.find(count);
  if (found != orders.end())
    return found->second;
  schedule::Pipeline pipeline;
  pipeline.devices = ranks.count();
  pipeline.microbatches = static_cast<int32_t>(count);
  pipeline.stages.resize(ranks.count());
  pipeline.placement.resize(ranks.count());
  std::iota(pipeline.placement.begin(), pipeline.placement.end(), 0);
  return orders[count] = ordersOf(options.kind, pipeline)[ranks.rank()];
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

PipelinedUpdate::PipelinedUpdate(Session &session, Ranks &ranks, const PipelineOptions &options,
                                 const std::string &variant, const std::vector<size_t> &groups)
    : session(session), ranks(ranks), options(options),
      function(stageFunction(variant, ranks.rank())) {
  findOwners(variant);
  session.splitUpdates(groups);
}

/// A stage has the parameters whose gradients its function computes.
void PipelinedUpdate::findOwners(const std::string &variant) {
  const Model &model = session.program.model;
  for (int stage = 0; stage < ranks.count(); ++stage) {
    std::vector<Owned> &own = owned.emplace_back();
    const std::vector<std::string> &arguments = model.functions.at(stageFunction(variant, stage));
    for (size_t index = 0, number = 0; index < model.parameters.size(); ++index) {
      const ParameterInfo &info = model.parameters[index];
      if (!info.trained)
        continue;
      if (std::count(arguments.begin(), arguments.end(), "grad:" + info.name) > 0)
        own.push_back({number, index});
      ++number;
    }
  }
}

Microbatch &PipelinedUpdate::takeFree(const std::function<Batch()> &makeBatch) {
  if (free.empty())
    free.push_back(
        microbatches
            .emplace_back(std::make_unique<Microbatch>(session, ranks, function, makeBatch()))
            .get());
  Microbatch &taken = *free.back();
  free.pop_back();
  return taken;
}

void PipelinedUpdate::add(const Microbatch &microbatch, std::vector<double> &sums) const {
  for (const Owned &owned : owned[ranks.rank()]) {
    int64_t start = session.parameters.start(owned.index);
    int64_t size = session.program.model.parameters[owned.index].elements;
    for (int64_t i = start; i < start + size; ++i)
      sums[i] += microbatch.weights.front() * microbatch.gradients()[i];
  }
}

/// In traces.
static std::string nameOf(schedule::PipelineOp op) {
  switch (op.kind) {
  case schedule::OpKind::F:
    return text("F ", op.microbatch);
  case schedule::OpKind::W:
    return text("W ", op.microbatch);
  case schedule::OpKind::B:
  case schedule::OpKind::BW:
    return text("B ", op.microbatch);
  }
  return "";
}

LossSums PipelinedUpdate::run(int64_t count, const std::function<Batch()> &makeBatch,
                              const Fill &fill, bool &isInterrupted) {
  std::vector<double> sums(session.parameters.gradientCount());
  LossSums losses;
  std::map<int32_t, Microbatch *> working;
  for (schedule::PipelineOp op : orderOf(count)) {
    TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, nameOf(op));
    Microbatch *&microbatch = working[op.microbatch];
    if (op.kind == schedule::OpKind::F) {
      microbatch = &takeFree(makeBatch);
      int64_t seed = fill(op.microbatch, *microbatch);
      if (microbatch->counts())
        microbatch->forward(seed);
      continue;
    }
    bool isLast = op.kind != schedule::OpKind::B;
    if (microbatch->counts())
      microbatch->goOn(isLast);
    if (!isLast)
      continue;
    if (microbatch->counts()) {
      add(*microbatch, sums);
      losses.add(0, microbatch->loss, microbatch->weights.front());
    }
    free.push_back(microbatch);
  }
  double divisor = losses.weights.empty() ? 0 : losses.weights.front();
  finish(sums, divisor);
  // The loss is that of the last stage.
  double loss = losses.losses.empty() ? 0 : losses.losses.front(), squares = 0;
  if (divisor != 0)
    for (const Owned &own : owned[ranks.rank()])
      squares += session.squaresOfOne(own.number);
  allSquares = 0;
  LossSums all;
  for (const std::vector<double> &part :
       ranks.gather(std::vector<double>{isInterrupted ? 1.0 : 0.0, loss, squares})) {
    isInterrupted |= part[0] != 0;
    loss = part[1];
    allSquares += part[2];
  }
  all.addSum(0, loss, divisor);
  return all;
}

/// Makes sums over microbatches the gradients.
void PipelinedUpdate::finish(const std::vector<double> &sums, double divisor) {
  isSettled = false;
  float *gradients = session.parameters.changeGradients();
  for (size_t i = 0; i < sums.size() && divisor != 0; ++i)
    gradients[i] = static_cast<float>(sums[i] / divisor);
  session.parameters.maskGradients();
}

void PipelinedUpdate::update(const std::function<void(int64_t start, int64_t size)> &average) {
  for (const Owned &own : owned[ranks.rank()]) {
    session.updateOne(own.number);
    average(session.parameters.start(own.index),
            session.program.model.parameters[own.index].elements);
  }
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

/// Calls `visit` with the arrays of a parameter: values, optimizer states and the average.
template <typename Visit>
static void forEachArray(Parameters &parameters, size_t index, Visit visit) {
  visit(parameters.changeValues(index));
  for (size_t which = 0; which < parameters.stateCount(); ++which)
    visit(parameters.changeState(which, index));
  if (parameters.hasAverage())
    visit(parameters.changeAverage(index));
}

std::string PipelinedUpdate::pack(int stage) {
  std::string bytes;
  for (const Owned &own : owned[stage]) {
    size_t size = session.program.model.parameters[own.index].elements * sizeof(float);
    forEachArray(session.parameters, own.index,
                 [&](float *array) { bytes.append(reinterpret_cast<char *>(array), size); });
  }
  return bytes;
}

void PipelinedUpdate::unpack(int stage, const std::string &bytes) {
  const char *next = bytes.data();
  for (const Owned &own : owned[stage]) {
    size_t size = session.program.model.parameters[own.index].elements * sizeof(float);
    forEachArray(session.parameters, own.index, [&](float *array) {
      memcpy(array, next, size);
      next += size;
    });
  }
}

void PipelinedUpdate::settle() {
  if (isSettled)
    return;
  isSettled = true;
  std::vector<std::string> all = ranks.gather(pack(ranks.rank()), "parameters");
  for (int stage = 0; stage < ranks.count(); ++stage)
    if (stage != ranks.rank())
      unpack(stage, all[stage]);
}

//===- StageOrders.cpp - Schedules of pipeline stages ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/StageOrders.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Simulator/PipelineOrders.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace bppsa;
using namespace bppsa::runtime;
using Name = schedule::ScheduleKind::Name;

static std::vector<int32_t> placementOf(const Model &model) {
  std::vector<int32_t> placement;
  for (const StageInfo &stage : model.stages)
    placement.push_back(stage.rank);
  return placement;
}

static schedule::Pipeline pipelineOf(const Model &model, std::vector<schedule::StageCost> costs,
                                     int64_t count) {
  schedule::Pipeline pipeline =
      schedule::makePipeline(costs, {}, placementOf(model), static_cast<int32_t>(count));
  // Assume that B frees no memory that W does not need; only the compiled stage knows.
  pipeline.deferredMemory = 1;
  return pipeline;
}

static std::vector<schedule::StageCost> countsOf(const Model &model) {
  std::vector<schedule::StageCost> costs;
  for (const StageInfo &stage : model.stages)
    costs.push_back({stage.forward, stage.cotangents, stage.parameters});
  return costs;
}

/// Returns true if parameter gradients (W) are separate from cotangents (B).
static bool isSplit(schedule::ScheduleKind kind) {
  return kind.name != Name::GPipe && kind.name != Name::OneForwardOneBackward;
}

static schedule::ScheduleKind usualKind(const Model &model) {
  schedule::Pipeline pipeline = pipelineOf(model, countsOf(model), 1);
  for (Name name : {Name::OneForwardOneBackward, Name::V, Name::OutOfOrder})
    if (supportsPlacement({name}, pipeline))
      return {name};
  schedule::ScheduleKind modulo = {Name::Modulo};
  while (!supportsPlacement(modulo, pipeline))
    ++modulo.group;
  return modulo;
}

static std::string remedyFor(schedule::ScheduleKind kind, const Model &model) {
  std::string placement, ranks = text("--pipeline=", model.pipelineRanks);
  if (kind.name == Name::V || kind.name == Name::VHalf || kind.name == Name::VMin)
    placement = " --pipeline-placement=v";
  if (kind.name == Name::Modulo)
    placement = text(" --pipeline-placement=modulo:", kind.group);
  return text(ranks, placement, isSplit(kind) ? " --split-backward" : "");
}

void bppsa::runtime::requirePlacement(const Model &model, const PipelineOptions &options) {
  if (options.schedule == "auto" && !model.splitsBackward)
    throw UsageError("--pipeline-schedule=auto needs a program of --split-backward");
  if (options.schedule.empty() || options.schedule == "auto")
    return;
  schedule::ScheduleKind kind = schedule::parseScheduleKind(options.schedule).value();
  bool goes = supportsPlacement(kind, pipelineOf(model, countsOf(model), 1));
  if (goes && (model.splitsBackward || !isSplit(kind)))
    return;
  schedule::ScheduleKind usual = usualKind(model);
  throw UsageError(text("--pipeline-schedule=", options.schedule, " needs a program of ",
                        remedyFor(kind, model), "; the stages of this one go with ",
                        goes ? "gpipe and 1f1b" : getText(usual)));
}

StageOrders::StageOrders(Ranks &ranks, const Model &model, const PipelineOptions &options)
    : ranks(ranks), model(model), options(options), costs(countsOf(model)) {
  if (options.schedule.empty())
    kind = usualKind(model);
  else if (options.schedule != "auto")
    kind = schedule::parseScheduleKind(options.schedule);
}

bool StageOrders::wantsTimes() const {
  constexpr Name byTimes[] = {Name::OneP, Name::TwoP, Name::V, Name::OutOfOrder, Name::Modulo};
  bool depends = !kind || std::count(std::begin(byTimes), std::end(byTimes), kind->name) > 0;
  return depends && options.areTimesMeasured && !areMeasured;
}

void StageOrders::setTimes(const std::vector<schedule::StageCost> &times) {
  costs = times;
  areMeasured = true;
  orders.clear();
}

schedule::ScheduledPipeline StageOrders::choose(const schedule::Pipeline &pipeline) const {
  schedule::OrderLimits limits = {options.memoryLimit};
  if (kind) {
    if (auto scheduled = scheduleStages(pipeline, *kind, limits))
      return std::move(*scheduled);
    fail("--memory-limit: found ", options.memoryLimit.value_or(0), ", which no order of ",
         getText(*kind), " keeps to; raise it, or use another --pipeline-schedule");
  }
  std::vector<schedule::ScheduledPipeline> ranking = rankStages(pipeline, limits);
  // Measuring requires separate B and W.
  if (wantsTimes())
    ranking.erase(std::remove_if(ranking.begin(), ranking.end(),
                                 [](const auto &scheduled) { return !isSplit(scheduled.kind); }),
                  ranking.end());
  if (ranking.empty())
    fail("--memory-limit: found ", options.memoryLimit.value_or(0),
         ", which no order of these stages keeps to; raise it");
  return std::move(ranking.front());
}

static std::string pack(const schedule::DeviceOrders &orders) {
  std::string bytes;
  auto add = [&](int32_t number) {
    bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  for (const std::vector<schedule::PipelineOp> &ops : orders) {
    add(static_cast<int32_t>(ops.size()));
    for (schedule::PipelineOp op : ops)
      for (int32_t number : {static_cast<int32_t>(op.kind), op.stage, op.microbatch})
        add(number);
  }
  return bytes;
}

static schedule::DeviceOrders unpack(const std::string &bytes, int64_t devices) {
  const char *next = bytes.data();
  auto take = [&] {
    int32_t number;
    memcpy(&number, next, sizeof number);
    next += sizeof number;
    return number;
  };
  schedule::DeviceOrders orders(devices);
  for (std::vector<schedule::PipelineOp> &ops : orders) {
    ops.resize(take());
    for (schedule::PipelineOp &op : ops) {
      op.kind = static_cast<schedule::OpKind>(take());
      op.stage = take();
      op.microbatch = take();
    }
  }
  return orders;
}

static std::string describeTimes(const schedule::ScheduledPipeline &scheduled) {
  const schedule::PipelineResult &result = scheduled.result;
  auto round = [](double value) { return std::round(100 * value) / 100; };
  return text("predicted ", round(1e3 * result.span), " ms a step, ",
              round(100 * result.getBubble(result.span)), " % of it idle");
}

StageOrders::Orders &StageOrders::find(int64_t count) {
  auto found = orders.find(count);
  if (found != orders.end())
    return found->second;
  std::string bytes, description;
  if (ranks.isFirst()) {
    schedule::ScheduledPipeline scheduled = choose(pipelineOf(model, costs, count));
    bytes = pack(scheduled.orders);
    description = getText(scheduled.kind);
    if (areMeasured)
      description += text(", ", describeTimes(scheduled));
  }
  schedule::DeviceOrders all = unpack(ranks.broadcast(bytes), ranks.count());
  size_t ahead = schedule::countLeadingForward(all, placementOf(model))[ranks.rank()];
  return orders[count] = {std::move(all[ranks.rank()]), ahead, description};
}

const std::vector<schedule::PipelineOp> &StageOrders::of(int64_t count) { return find(count).own; }

std::string StageOrders::describe(int64_t count) { return find(count).description; }

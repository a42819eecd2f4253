//===- PipelineSchedules.cpp - pipeline schedules by name -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineSchedules.h"
#include "bppsa/Simulator/PipelineOrders.h"
#include "bppsa/Simulator/PipelineRules.h"
#include "bppsa/Simulator/PipelineSearch.h"
#include "bppsa/Simulator/VShape.h"
#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <tuple>

using namespace bppsa::schedule;

using Name = ScheduleKind::Name;

static constexpr std::pair<Name, const char *> kNames[] = {
    {Name::GPipe, "gpipe"},   {Name::OneForwardOneBackward, "1f1b"},
    {Name::H1, "zb-h1"},      {Name::H2, "zb-h2"},
    {Name::OneP, "zb-1p"},    {Name::TwoP, "zb-2p"},
    {Name::V, "zb-v"},        {Name::VHalf, "v-half"},
    {Name::VMin, "v-min"},    {Name::OutOfOrder, "ooo"},
    {Name::Modulo, "modulo"},
};

std::optional<ScheduleKind> bppsa::schedule::parseScheduleKind(const std::string &text) {
  size_t colon = text.find(':');
  for (auto [name, word] : kNames) {
    if (text.substr(0, colon) != word)
      continue;
    if ((name == Name::Modulo) != (colon != std::string::npos))
      return std::nullopt;
    ScheduleKind kind = {name};
    if (name != Name::Modulo)
      return kind;
    const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(begin, end, kind.group);
    if (rest != end || error != std::errc() || kind.group < 1)
      return std::nullopt;
    return kind;
  }
  return std::nullopt;
}

std::string bppsa::schedule::getText(ScheduleKind kind) {
  auto entry = std::find_if(std::begin(kNames), std::end(kNames),
                            [&](const auto &known) { return known.first == kind.name; });
  std::string group = kind.name == Name::Modulo ? ":" + std::to_string(kind.group) : "";
  return entry->second + group;
}

std::string bppsa::schedule::listScheduleKinds() {
  std::string list;
  for (auto [name, word] : kNames)
    list += std::string(list.empty() ? "" : ", ") + word + (name == Name::Modulo ? ":G" : "");
  return list;
}

static bool isVShape(Name name) {
  return name == Name::V || name == Name::VHalf || name == Name::VMin;
}

int64_t bppsa::schedule::getMinLayers(ScheduleKind kind, int32_t devices) {
  if (kind.name == Name::Modulo)
    return int64_t(devices - 1) * kind.group + 1;
  return isVShape(kind.name) ? 2 * int64_t(devices) : devices;
}

static Pipeline place(const PipelineProblem &problem, ScheduleKind kind) {
  int32_t numLayers = static_cast<int32_t>(problem.layers.size());
  auto build = [&](const std::vector<int32_t> &stages, std::vector<int32_t> placement) {
    Pipeline pipeline =
        makePipeline(problem.layers, stages, std::move(placement), problem.microbatches);
    pipeline.deferredMemory = problem.deferredMemory;
    return pipeline;
  };
  if (kind.name == Name::Modulo)
    return build({}, placeModulo(numLayers, kind.group, problem.devices));
  if (isVShape(kind.name))
    return build(divideLayers(problem.layers, 2 * problem.devices), placeVShape(problem.devices));
  std::vector<int32_t> stages = divideLayers(problem.layers, problem.devices);
  if (kind.name == Name::OutOfOrder)
    return build({}, stages);
  std::vector<int32_t> placement(problem.devices);
  std::iota(placement.begin(), placement.end(), 0);
  return build(stages, std::move(placement));
}

bool bppsa::schedule::supportsPlacement(ScheduleKind kind, const Pipeline &pipeline) {
  const std::vector<int32_t> &placement = pipeline.placement;
  switch (kind.name) {
  case Name::GPipe:
    return true;
  case Name::V:
  case Name::VHalf:
  case Name::VMin:
    return placement == placeVShape(pipeline.devices);
  case Name::OutOfOrder:
    return std::is_sorted(placement.begin(), placement.end());
  case Name::Modulo:
    return placement == placeModulo(pipeline.getNumStages(), kind.group, pipeline.devices);
  default:
    return placement == placeModulo(pipeline.devices, 1, pipeline.devices);
  }
}

/// The limit only affects searched and dispatched schedules; scheduleStages() checks the others.
static std::optional<DeviceOrders> order(const Pipeline &pipeline, ScheduleKind kind,
                                         OrderLimits limits) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  double limit = limits.memory.value_or(kNoLimit);
  switch (kind.name) {
  case Name::GPipe:
    return orderGPipe(pipeline);
  case Name::OneForwardOneBackward:
    return orderOneForwardOneBackward(pipeline);
  case Name::H1:
    return orderZeroBubble(pipeline, kZeroBubbleH1, kNoLimit);
  case Name::H2:
    return orderZeroBubble(pipeline, kZeroBubbleH2, kNoLimit);
  case Name::OneP:
    return searchDeferral(pipeline, std::min<double>(limit, pipeline.devices));
  case Name::TwoP:
    return searchDeferral(pipeline, std::min<double>(limit, 2.0 * pipeline.devices));
  case Name::V:
    return searchVShape(pipeline, std::min<double>(limit, pipeline.devices));
  case Name::VHalf:
    return orderByBlock(pipeline, kVHalf);
  case Name::VMin:
    return orderByBlock(pipeline, kVMin);
  case Name::OutOfOrder:
  case Name::Modulo:
    break;
  }
  DispatchRule rule;
  rule.forward =
      limits.forwardFirst ? DispatchRule::Forward::First : DispatchRule::Forward::AfterBackward;
  return orderByRule(pipeline, rule, limit);
}

std::optional<ScheduledPipeline>
bppsa::schedule::scheduleStages(Pipeline pipeline, ScheduleKind kind, OrderLimits limits) {
  std::optional<DeviceOrders> orders = order(pipeline, kind, limits);
  if (!orders)
    return std::nullopt;
  ScheduledPipeline scheduled = {kind, std::move(pipeline), {}, std::move(*orders), {}};
  scheduled.result = evaluate(scheduled.pipeline, scheduled.orders).value();
  constexpr double kTolerance = 1e-9;
  if (limits.memory && scheduled.result.getPeakActivations() > *limits.memory + kTolerance)
    return std::nullopt;
  return scheduled;
}

/// Sorts by span, then memory, then schedule.
static void sort(std::vector<ScheduledPipeline> &ranking) {
  auto getKey = [](const ScheduledPipeline &scheduled) {
    return std::make_tuple(scheduled.result.span, scheduled.result.getPeakActivations(),
                           scheduled.kind.name, scheduled.kind.group);
  };
  std::sort(ranking.begin(), ranking.end(),
            [&](const auto &left, const auto &right) { return getKey(left) < getKey(right); });
}

std::vector<ScheduledPipeline> bppsa::schedule::rankStages(const Pipeline &pipeline,
                                                           OrderLimits limits) {
  std::vector<ScheduledPipeline> ranking;
  const std::vector<int32_t> &placement = pipeline.placement;
  auto group = std::find_if(placement.begin(), placement.end(),
                            [&](int32_t device) { return device != placement.front(); }) -
               placement.begin();
  for (auto [name, word] : kNames) {
    ScheduleKind kind = {name, name == Name::Modulo ? static_cast<int32_t>(group) : 1};
    // With one turn of groups, `modulo` equals `ooo`.
    bool isOther = name == Name::Modulo && supportsPlacement({Name::OutOfOrder}, pipeline);
    if (isOther || !supportsPlacement(kind, pipeline))
      continue;
    if (std::optional<ScheduledPipeline> scheduled = scheduleStages(pipeline, kind, limits))
      ranking.push_back(std::move(*scheduled));
  }
  sort(ranking);
  return ranking;
}

std::optional<ScheduledPipeline> bppsa::schedule::schedulePipeline(const PipelineProblem &problem,
                                                                   ScheduleKind kind) {
  if (static_cast<int64_t>(problem.layers.size()) < getMinLayers(kind, problem.devices))
    return std::nullopt;
  Pipeline pipeline = place(problem, kind);
  std::vector<int32_t> deviceOrder = problem.deviceOrder;
  if (!problem.links.empty()) {
    if (deviceOrder.empty())
      deviceOrder = findDeviceOrder(pipeline, problem.links);
    setHops(pipeline, problem.links, deviceOrder);
  }
  std::optional<ScheduledPipeline> scheduled =
      scheduleStages(std::move(pipeline), kind, {problem.memoryLimit, problem.forwardFirst});
  if (scheduled)
    scheduled->deviceOrder = std::move(deviceOrder);
  return scheduled;
}

std::vector<ScheduledPipeline> bppsa::schedule::rankSchedules(const PipelineProblem &problem) {
  std::vector<ScheduledPipeline> ranking;
  auto offer = [&](ScheduleKind kind) {
    if (std::optional<ScheduledPipeline> scheduled = schedulePipeline(problem, kind))
      ranking.push_back(std::move(*scheduled));
  };
  for (auto [name, word] : kNames)
    if (name != Name::Modulo)
      offer({name});
  for (int32_t group = 1; group <= static_cast<int32_t>(problem.layers.size()) / problem.devices;
       group *= 2)
    offer({Name::Modulo, group});
  sort(ranking);
  return ranking;
}

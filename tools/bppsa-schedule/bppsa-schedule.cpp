//===- bppsa-schedule.cpp - evaluates schedules of training steps ---------===//
//
// Part of the bppsa project, under the MIT License.
//
// docs/Benchmarks/Scaling.md describes the models and the output.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "DeviceLinks.h"
#include "LayerTimes.h"
#include "Output.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Simulator/Gantt.h"
#include "bppsa/Simulator/Interlocking.h"
#include "bppsa/Simulator/OwnerExchange.h"
#include "bppsa/Support/InitTool.h"
#include "bppsa/Support/OutputFile.h"
#include <iostream>
#include <map>

using namespace bppsa;
using namespace bppsa::schedule;
using bppsa::runtime::fail;
using nlohmann::ordered_json;

static void draw(const std::string &path, const Gantt &chart) {
  llvm::Error error = writeFile(path, [&](llvm::raw_ostream &out) { out << toSVG(chart); });
  if (error)
    fail(llvm::toString(std::move(error)));
}

/// Returns the layers as listed, or equal layers that add up to the stage times.
static Layers makeGivenLayers(const CommandLine &options) {
  if (options.times.size() > 1)
    return options.times;
  double share = double(options.devices) / options.layers;
  const StageCost &stage = options.times.front();
  return Layers(options.layers,
                {stage.forward * share, stage.backward * share, stage.weight * share, stage.hop});
}

/// Times are in microseconds.
static Layers makeLayers(const std::vector<ModelLayer> &model, const CommandLine &options) {
  Layers layers;
  for (const ModelLayer &layer : model) {
    double hop = 1e6 * (options.latency + layer.outputBytes / options.bytesPerSecond);
    layers.push_back(
        {layer.forward, layer.backward, layer.weight, hop, double(layer.activationBytes)});
  }
  return layers;
}

/// Returns the schedules, best first.
static std::vector<ScheduledPipeline> scheduleAll(Layers layers, const CommandLine &options) {
  checkSize(layers.size(), options.microbatches);
  PipelineProblem problem = {std::move(layers), options.devices, options.microbatches};
  problem.deferredMemory = options.deferredMemory;
  problem.memoryLimit = options.memoryLimit;
  problem.forwardFirst = options.forwardFirst;
  if (!options.linksFile.empty())
    problem.links = readLinks(options.linksFile, options.devices);
  problem.deviceOrder = options.deviceOrder;
  std::string name = options.schedule ? getText(*options.schedule) : "a pipeline";
  int64_t fewest = getMinLayers(options.schedule.value_or(ScheduleKind{}), problem.devices);
  if (static_cast<int64_t>(problem.layers.size()) < fewest)
    fail(name, " on ", problem.devices, " devices needs at least ", fewest, " layers, found ",
         problem.layers.size(), "; use fewer devices, or another schedule");
  std::vector<ScheduledPipeline> ranking;
  if (!options.schedule)
    ranking = rankSchedules(problem);
  else if (std::optional<ScheduledPipeline> scheduled =
               schedulePipeline(problem, *options.schedule))
    ranking.push_back(std::move(*scheduled));
  if (ranking.empty())
    fail(name, " needs more memory than --memory-limit ", problem.memoryLimit.value_or(0),
         "; raise it, or try v-min");
  return ranking;
}

static ordered_json runPipeline(const CommandLine &options, const std::vector<ModelLayer> &model) {
  std::vector<ScheduledPipeline> ranking =
      scheduleAll(model.empty() ? makeGivenLayers(options) : makeLayers(model, options), options);
  const ScheduledPipeline &best = ranking.front();
  ordered_json object = describe(best);
  if (!model.empty()) {
    for (ordered_json &device : object["devices"])
      device["peak_bytes"] = device["peak_activations"].get<double>() *
                             best.pipeline.deviceActivations[device["device"].get<size_t>()];
    object["layers"] = describeLayers(model, best.pipeline.layerDevices);
  }
  if (!options.schedule)
    object["choices"] = describeChoices(ranking);
  if (!options.gantt.empty()) {
    Gantt chart = makeGantt(best.pipeline, best.result);
    chart.title = getText(best.kind);
    chart.unit = model.empty() ? "" : " us";
    draw(options.gantt, chart);
  }
  return object;
}

static LinkPolicy makePolicy(CommandLine &options, const TrainingStep &step,
                             const LinkNetwork &network) {
  int32_t numLayers = static_cast<int32_t>(step.size());
  switch (*options.exchange) {
  case Exchange::AllReduce:
    return kAllReduce;
  case Exchange::P3:
    return makeP3(numLayers, options.slice);
  case Exchange::Dear:
    return makeDear(numLayers);
  case Exchange::ReverseFirst:
  case Exchange::Barrier:
    break;
  }
  if (!options.reversed)
    options.reversed = searchReverseFirst(step, network);
  if (*options.reversed > numLayers)
    fail("--exchange: found reverse-first:", *options.reversed, ", but the model has ", numLayers,
         " layers");
  return makeReverseFirst(*options.reversed);
}

static OwnerPolicy makeOwnerPolicy(const CommandLine &options) {
  using Kind = OwnerPolicy::Kind;
  static const std::map<Exchange, Kind> kinds = {{Exchange::Barrier, Kind::Barrier},
                                                 {Exchange::AllReduce, Kind::AllReduce},
                                                 {Exchange::P3, Kind::P3},
                                                 {Exchange::Dear, Kind::Dear}};
  return {kinds.at(*options.exchange), options.slice, options.messageShare};
}

/// Also returns the speed-up over an all-reduce with a barrier.
static std::pair<LinkResult, double>
evaluateExchange(CommandLine &options, const TrainingStep &step, const LinkNetwork &network) {
  auto compare = [&](const auto &policy, const auto &allReduce) {
    LinkResult result = evaluate(step, network, policy);
    return std::pair(result, evaluate(step, network, allReduce).step / result.step);
  };
  if (options.byOwners)
    return compare(makeOwnerPolicy(options),
                   OwnerPolicy{OwnerPolicy::Kind::AllReduce, 0, options.messageShare});
  return compare(makePolicy(options, step, network), kAllReduce);
}

static ordered_json runExchange(CommandLine options, const ModelWork &model) {
  TrainingStep step;
  for (const ModelLayer &layer : model.layers)
    step.push_back(
        {layer.forward * 1e-6, layer.backward * 1e-6, layer.weight * 1e-6, layer.tensors});
  LinkNetwork network = {options.devices, options.bytesPerSecond, options.latency};
  auto [result, speedup] = evaluateExchange(options, step, network);
  ordered_json object = describe(result, options.devices, model.batch);
  object["speedup_over_allreduce"] = speedup;
  if (options.reversed)
    object["reversed_layers"] = *options.reversed;
  object["layers"] = describeLayers(model.layers, {});
  if (!options.gantt.empty()) {
    Gantt chart = makeGantt(result);
    chart.title = "one of " + std::to_string(options.devices) + " ranks";
    chart.unit = " us";
    for (Gantt::Bar &bar : chart.bars) {
      bar.start *= 1e6;
      bar.end *= 1e6;
    }
    draw(options.gantt, chart);
  }
  return object;
}

static ordered_json runModules(const CommandLine &options) {
  const StageCost &times = options.times.front();
  auto getPeriod = [&](int32_t window) {
    return getInterlockingPeriod(
        options.devices, window,
        {times.forward, times.backward, times.weight, options.head, times.hop});
  };
  double period = getPeriod(options.window), endToEnd = getPeriod(options.devices);
  return {{"modules", options.devices},
          {"window", options.window},
          {"period", period},
          {"end_to_end_period", endToEnd},
          {"speedup", endToEnd / period}};
}

static void run(const CommandLine &options) {
  ModelWork model = {};
  if (!options.model.empty())
    model = getTimedWork(options);
  ordered_json object = options.window     ? runModules(options)
                        : options.exchange ? runExchange(options, model)
                                           : runPipeline(options, model.layers);
  if (!options.model.empty()) {
    object["unit"] = "us";
    object["times"] = options.timesFile.empty() ? "counts" : "measured";
    object["predicted"] = true;
  }
  std::cout << (options.json ? object.dump() + '\n' : toText(object)) << std::flush;
  if (!std::cout)
    fail("cannot write to the standard output");
}

int main(int argc, char **argv) {
  initTool();
  try {
    if (std::optional<CommandLine> options = parseCommandLine(argc, argv))
      run(*options);
    return 0;
  } catch (...) {
    return runtime::reportError();
  }
}

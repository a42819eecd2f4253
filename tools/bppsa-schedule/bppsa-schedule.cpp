//===- bppsa-schedule.cpp - evaluates schedules of training steps ---------===//
//
// Part of the bppsa project, under the MIT License.
//
// docs/Scaling.md describes the models and the output.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Output.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Schedule/Gantt.h"
#include "bppsa/Support/OutputFile.h"
#include <iostream>

using namespace bppsa::schedule;
using bppsa::runtime::fail;

/// Equal layers that make up the stages of the command line.
static PipelineProblem makeProblem(const CommandLine &options) {
  double share = double(options.stages) / options.layers;
  StageCost layer = {options.times.forward * share, options.times.backward * share,
                     options.times.weight * share, options.times.hop};
  PipelineProblem problem = {Layers(options.layers, layer), options.stages, options.microbatches};
  problem.deferredMemory = options.deferredMemory;
  problem.memoryLimit = options.memoryLimit;
  problem.forwardFirst = options.forwardFirst;
  return problem;
}

/// The schedules that the command line asks for, the best one first.
static std::vector<ScheduledPipeline> run(const PipelineProblem &problem,
                                          const std::optional<ScheduleKind> &kind) {
  if (kind) {
    int64_t fewest = getFewestLayers(*kind, problem.devices);
    if (static_cast<int64_t>(problem.layers.size()) < fewest)
      fail(getText(*kind), " on ", problem.devices, " devices needs at least ", fewest,
           " layers, found ", problem.layers.size(), "; use fewer devices, or another schedule");
  }
  std::vector<ScheduledPipeline> ranking;
  if (!kind)
    ranking = rankSchedules(problem);
  else if (std::optional<ScheduledPipeline> scheduled = schedulePipeline(problem, *kind))
    ranking.push_back(std::move(*scheduled));
  if (ranking.empty())
    fail(kind ? getText(*kind) : "every schedule", " needs more memory than --memory-limit ",
         problem.memoryLimit.value_or(0), "; raise it, or try v-min");
  return ranking;
}

static void draw(const std::string &path, const ScheduledPipeline &scheduled) {
  Gantt chart = makeGantt(scheduled.pipeline, scheduled.result);
  chart.title = getText(scheduled.kind);
  llvm::Error error = bppsa::writeFile(path, [&](llvm::raw_ostream &out) { out << toSVG(chart); });
  if (error)
    fail(llvm::toString(std::move(error)));
}

static void run(const CommandLine &options) {
  std::vector<ScheduledPipeline> ranking = run(makeProblem(options), options.schedule);
  nlohmann::ordered_json object = describe(ranking.front());
  if (!options.schedule)
    object["choices"] = describeChoices(ranking);
  if (!options.gantt.empty())
    draw(options.gantt, ranking.front());
  std::cout << (options.json ? object.dump() + '\n' : toText(object)) << std::flush;
  if (!std::cout)
    fail("cannot write to the standard output");
}

int main(int argc, char **argv) {
  try {
    if (std::optional<CommandLine> options = parseCommandLine(argc, argv))
      run(*options);
    return 0;
  } catch (...) {
    return bppsa::runtime::reportError();
  }
}

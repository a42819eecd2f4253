//===- Dispatch.cpp - Selection of compiled variants ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Variants/Dispatch.h"
#include "Variants/Calibration.h"
#include "Variants/VariantTiming.h"
#include "bppsa/Program/Mappings.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace bppsa::runtime;
namespace mappings = bppsa::program::mappings;
namespace cost = bppsa::cost;

/// With built-in constants, a predicted lead that makes measuring unnecessary.
static constexpr double kMinPredictedSpeedup = 3;
/// Vectors of samples are used from the first batch size on, vectors of units below the second;
/// timing decides in between.
static constexpr int64_t kFewestSamplesInLanes = 4, kMaxSamplesOverUnits = 16;

static bool fitsMapping(const std::string &mapping, const std::string &requested, int64_t samples) {
  if (requested != "auto")
    return mapping == requested;
  return mapping == mappings::kLanes ? samples >= kFewestSamplesInLanes
                                     : samples < kMaxSamplesOverUnits;
}

/// Vectors of units are nearly as fast as vectors of samples and distribute single samples over
/// threads, but keep more residuals than a memory limit allows.
static bool mayFillThreads(const Model &model, const VariantRequest &request, int64_t samples,
                           cost::HostMachine machine) {
  return request.backward == "auto" && request.mapping == "auto" && model.memoryLimit == 0 &&
         cost::getNumGroups(samples) < machine.threads &&
         cost::sharesMatricesAcrossSamples(model.hostChains, machine);
}

static std::string describeVariant(const VariantInfo &variant) {
  std::string words = variant.backward;
  if (!variant.plan.empty())
    words += " " + variant.plan;
  if (variant.mapping != mappings::kLanes)
    words += " (" + variant.mapping + ")";
  return words;
}

std::vector<const VariantInfo *> bppsa::runtime::matchingVariants(const Model &model,
                                                                  const VariantRequest &request,
                                                                  int64_t samples,
                                                                  cost::HostMachine machine) {
  bool fillsThreads = mayFillThreads(model, request, samples, machine);
  std::vector<const VariantInfo *> matching;
  std::vector<std::string> all;
  for (const VariantInfo &variant : model.variants) {
    all.push_back(describeVariant(variant));
    bool backward = request.backward == "auto" || request.backward == variant.backward;
    bool scan = request.scan == "auto" || variant.plan.empty() || request.scan == variant.plan;
    // A named plan implies a scan.
    bool wanted =
        request.scan == "auto" || request.backward == "sequential" || !variant.plan.empty();
    bool hasTwin =
        std::any_of(model.variants.begin(), model.variants.end(), [&](const VariantInfo &other) {
          return other.mapping != variant.mapping && other.backward == variant.backward;
        });
    bool mapping = hasTwin || request.mapping != "auto"
                       ? fitsMapping(variant.mapping, request.mapping, samples) ||
                             (fillsThreads && variant.mapping == mappings::kUnits)
                       : true;
    if (backward && scan && wanted && mapping)
      matching.push_back(&variant);
  }
  if (matching.empty())
    fail("--backward=", request.backward, " --scan=", request.scan, " --mapping=", request.mapping,
         ": this program holds the variants ", list(all));
  return matching;
}

std::string bppsa::runtime::inferFunction(const Model &model, const std::string &mapping,
                                          int64_t samples) {
  const std::string units = "infer.units";
  std::vector<std::string> held = {model.target == "cuda" ? mappings::kBlocks : mappings::kLanes};
  if (model.hasFunction(units))
    held.push_back(mappings::kUnits);
  // These programs also have an inference function with units in lanes.
  if (mapping == mappings::kChunks && held.size() > 1)
    return units;
  if (mapping != "auto" && std::find(held.begin(), held.end(), mapping) == held.end())
    fail("--mapping=", mapping, ": this program holds the mappings ", list(held));
  return held.size() == 1 || fitsMapping(mappings::kLanes, mapping, samples) ? "infer" : units;
}

std::optional<size_t> bppsa::runtime::timeSymbol(const Model &model) {
  for (const ArrayInfo &input : model.inputs)
    if (input.timeAxis && input.shape[*input.timeAxis].kind == Extent::Kind::Symbol)
      return input.shape[*input.timeAxis].symbol;
  return std::nullopt;
}

static ViewTable inputGradients(const Model &model, const Batch &batch,
                                std::vector<Buffer> &buffers) {
  ViewTable views;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    buffers.emplace_back(batch.inputs[i].data.size());
    views["input_grad:" + model.inputs[i].name] = {buffers.back().data(), batch.inputs[i].shape,
                                                   sizeof(float), Access::Write};
  }
  return views;
}

bool bppsa::runtime::isLongEnough(const Model &model, Symbols symbols, size_t timeSymbol,
                                  int64_t steps) {
  if (steps < model.minSizes[timeSymbol])
    return false;
  symbols[timeSymbol] = steps;
  auto isFilled = [&](const ArrayInfo &info) {
    for (const Extent &extent : info.shape)
      if (evaluate(extent, symbols).value_or(1) < 1)
        return false;
    return true;
  };
  return std::all_of(model.outputs.begin(), model.outputs.end(), isFilled) &&
         std::all_of(model.losses.begin(), model.losses.end(),
                     [&](const LossInfo &loss) { return !loss.target || isFilled(*loss.target); });
}

cost::Plan bppsa::runtime::planOf(const VariantInfo &variant) {
  std::optional<cost::Plan> plan = cost::parsePlan(variant.plan);
  if (!plan)
    fail("this program has a plan ", quote(variant.plan),
         " that the run time does not know; compile the model again");
  return *plan;
}

cost::DeviceConstants bppsa::runtime::chosenConstants(const Program &program,
                                                      const VariantRequest &request) {
  return request.calibration.empty() ? cost::shippedH200()
                                     : readCalibration(request.calibration, program);
}

Prediction bppsa::runtime::predictVariants(const Model &model,
                                           const std::vector<const VariantInfo *> &candidates,
                                           int64_t steps, int64_t samples,
                                           const cost::DeviceConstants &constants) {
  Prediction prediction;
  double next = std::numeric_limits<double>::infinity(), least = next;
  for (const VariantInfo *candidate : candidates) {
    double time = cost::predict(model.deviceChains, planOf(*candidate), steps, samples, constants);
    prediction.microseconds.push_back(time);
    if (time < least) {
      next = std::exchange(least, time);
      prediction.best = candidate;
    } else {
      next = std::min(next, time);
    }
  }
  prediction.lead = next / least;
  return prediction;
}

/// If none fits, returns the smallest, whose call reports the error.
static std::vector<const VariantInfo *>
pruneOversized(Session &session, const std::string &function, Batch &batch,
               const std::vector<const VariantInfo *> &candidates) {
  if (!isDeviceProgram())
    return candidates;
  std::vector<Buffer> buffers;
  ViewTable extra = inputGradients(session.program.model, batch, buffers);
  std::vector<const VariantInfo *> fitting;
  for (const VariantInfo *candidate : candidates)
    if (session.fits(function + "." + candidate->name, batch, extra))
      fitting.push_back(candidate);
  if (fitting.empty())
    fitting.push_back(candidates.front());
  return fitting;
}

/// Returns a lower bound for the backward pass.
static double getMinCycles(const Model &model, const VariantInfo &variant, int64_t steps,
                           int64_t samples, cost::HostMachine machine) {
  cost::Plan plan = planOf(variant);
  return variant.mapping == mappings::kChunks
             ? cost::getMinChunkCycles(model.hostChains, plan, steps, samples, machine)
             : cost::getMinCycles(model.hostChains, plan, steps, samples, machine);
}

std::vector<const VariantInfo *>
bppsa::runtime::pruneSlowerScans(const Model &model,
                                 const std::vector<const VariantInfo *> &candidates, int64_t steps,
                                 int64_t samples, cost::HostMachine machine) {
  auto isSequential = [](const VariantInfo *candidate) {
    return candidate->backward == "sequential";
  };
  if (model.hostChains.empty() || std::none_of(candidates.begin(), candidates.end(), isSequential))
    return candidates;
  double most = cost::getMaxSequentialCycles(model.hostChains, steps, samples, machine);
  double maxOverUnits = cost::getMaxUnitCycles(model.hostChains, steps, samples, machine);
  std::vector<const VariantInfo *> hopeful;
  for (const VariantInfo *candidate : candidates) {
    double limit = candidate->mapping == mappings::kChunks ? std::min(most, maxOverUnits) : most;
    if (isSequential(candidate) || getMinCycles(model, *candidate, steps, samples, machine) < limit)
      hopeful.push_back(candidate);
  }
  return hopeful;
}

/// Returns the floats per register; the maximum for unknown instruction sets.
static int64_t lanesOf(const std::string &isa) {
  return isa == "x86-64-v2" ? 4 : isa == "x86-64-v3" ? 8 : 16;
}

static std::vector<int64_t> measuringLengths(const Model &model, const Symbols &symbols,
                                             std::optional<size_t> symbol, int64_t steps) {
  std::vector<int64_t> lengths;
  if (symbol)
    for (int64_t length = std::clamp<int64_t>(steps / 64, 1, 16); length < steps; length *= 4)
      if (isLongEnough(model, symbols, *symbol, length))
        lengths.push_back(length);
  lengths.push_back(steps);
  return lengths;
}

namespace {
class SyntheticCaller : public VariantCaller {
public:
  SyntheticCaller(Session &session, std::string function, const Batch &like,
                  const std::vector<const VariantInfo *> &candidates)
      : session(session), function(std::move(function)), like(like), candidates(candidates) {}
  ~SyntheticCaller() override { release(); }

  std::optional<double> prepare(int64_t steps) override;
  double call(size_t variant) override {
    double start = now();
    calls[variant]();
    return now() - start;
  }

private:
  void release();

  Session &session;
  const std::string function;
  const Batch &like;
  const std::vector<const VariantInfo *> &candidates;
  std::optional<Dataset> data;
  Batch batch;
  std::vector<Buffer> buffers;
  std::vector<Call> calls;
};
} // namespace

void SyntheticCaller::release() {
  calls.clear();
  buffers.clear();
  if (Device *device = programDevice())
    device->releaseArena();
}

std::optional<double> SyntheticCaller::prepare(int64_t steps) {
  double start = now();
  const Model &model = session.program.model;
  release();
  data.emplace(Dataset::synthetic(model, like.samples, steps, like.symbols));
  batch = data->whole();
  ViewTable extra = inputGradients(model, batch, buffers);
  std::vector<std::string> names;
  for (const VariantInfo *candidate : candidates)
    names.push_back(function + "." + candidate->name);
  // Memory may not suffice for two batches.
  if (!std::all_of(names.begin(), names.end(),
                   [&](const std::string &name) { return session.fits(name, batch, extra); }))
    return std::nullopt;
  for (const std::string &name : names)
    calls.push_back(session.prepare(name, &batch, extra));
  return now() - start;
}

/// Falls back to the number of steps.
static double countCost(const Model &model, const VariantInfo &variant, int64_t steps,
                        int64_t samples, cost::HostMachine machine,
                        const cost::DeviceConstants &constants) {
  if (!model.deviceChains.empty())
    return cost::predict(model.deviceChains, planOf(variant), steps, samples, constants);
  if (!model.hostChains.empty())
    return getMinCycles(model, variant, steps, samples, machine);
  return static_cast<double>(steps);
}

static VariantChoice keepOthers(const std::vector<const VariantInfo *> &candidates,
                                const VariantInfo &chosen,
                                const std::function<double(const VariantInfo &)> &count) {
  VariantChoice choice = {&chosen};
  for (const VariantInfo *candidate : candidates)
    if (candidate != &chosen) {
      choice.others.push_back(candidate);
      choice.othersCost += count(*candidate) / count(chosen);
    }
  return choice;
}

VariantChoice bppsa::runtime::chooseVariant(Session &session, const VariantRequest &request,
                                            const std::string &function, Batch &batch,
                                            int64_t calls) {
  const Model &model = session.program.model;
  cost::HostMachine machine = {threads(), lanesOf(session.program.functions.isa())};
  std::vector<const VariantInfo *> candidates =
      matchingVariants(model, request, batch.samples, machine);
  // Read the file first, so that an invalid file is always rejected.
  cost::DeviceConstants constants = chosenConstants(session.program, request);
  std::optional<size_t> symbol = timeSymbol(model);
  int64_t steps = symbol ? batch.symbols[*symbol].value_or(1)
                         : model.fixedSize(&ArrayInfo::timeAxis).value_or(1);
  if (candidates.size() > 1)
    candidates = pruneOversized(session, function, batch, candidates);
  candidates = pruneSlowerScans(model, candidates, steps, batch.samples, machine);
  if (candidates.size() == 1)
    return {candidates.front()};
  // The first variant has the least work. On a GPU, use the prediction.
  TimingTask task;
  if (!model.deviceChains.empty()) {
    Prediction prediction = predictVariants(model, candidates, steps, batch.samples, constants);
    if (!request.calibration.empty() || prediction.lead > kMinPredictedSpeedup)
      return {prediction.best};
    task.preferred =
        std::find(candidates.begin(), candidates.end(), prediction.best) - candidates.begin();
  }
  // Emulated times do not predict GPU times.
  if (isEmulatedProgram())
    return {candidates[task.preferred]};
  task.variants = candidates.size();
  task.lengths = measuringLengths(model, batch.symbols, symbol, steps);
  task.calls = calls;
  task.countedCost = [&](size_t variant, int64_t length) {
    return countCost(model, *candidates[variant], length, batch.samples, machine, constants);
  };
  SyntheticCaller caller(session, function, batch, candidates);
  const VariantInfo &chosen = *candidates[chooseByTiming(task, caller)];
  // Other variants may not fit during a run.
  if (isDeviceProgram())
    return {&chosen};
  // Other work may occupy the rest.
  machine.threads = 1;
  return keepOthers(candidates, chosen, [&](const VariantInfo &variant) {
    return countCost(model, variant, steps, batch.samples, machine, constants);
  });
}

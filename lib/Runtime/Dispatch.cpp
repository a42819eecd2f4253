//===- Dispatch.cpp - Choice between compiled variants --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Dispatch.h"
#include "bppsa/Runtime/Calibration.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace bppsa::runtime;
namespace cost = bppsa::cost;

/// The share of the whole run that may be spent on measuring.
static constexpr double measuringShare = 0.02;
/// How many times faster a variant has to be by constants that nobody measured to be taken without
/// measuring.
static constexpr double clearLead = 3;
/// Calls of one variant at one length, the one that warms up included.
static constexpr int callsToTime = 4;
/// Batches below the first number are computed with vectors of units, from the second on with
/// vectors of samples; between them a measurement decides.
static constexpr int64_t fewestSamplesInLanes = 4, mostSamplesOverUnits = 16;

//===----------------------------------------------------------------------===//
// Cost model
//===----------------------------------------------------------------------===//

void CostModel::addPoint(int64_t steps, double seconds) { measured.emplace_back(steps, seconds); }

double CostModel::predict(int64_t steps) const {
  auto [x1, y1] = measured.back();
  if (measured.size() < 2)
    return y1 * steps / x1;
  auto [x0, y0] = measured[measured.size() - 2];
  // With a fixed part, a step costs the less the more there are: a longer call that seems to have
  // cost more for each step was disturbed.
  y1 = std::min(y1, y0 * x1 / x0);
  double slope = std::max(0.0, (y1 - y0) / static_cast<double>(x1 - x0));
  return y1 + slope * static_cast<double>(steps - x1);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Whether `mapping` is what `requested` asks for in batches of `samples`, where the program holds
/// both.
static bool fitsMapping(const std::string &mapping, const std::string &requested, int64_t samples) {
  if (requested != "auto")
    return mapping == requested;
  return mapping == "units" ? samples < mostSamplesOverUnits : samples >= fewestSamplesInLanes;
}

static std::string describe(const VariantInfo &variant) {
  std::string words = variant.backward;
  if (!variant.plan.empty())
    words += " " + variant.plan;
  if (variant.mapping == "units")
    words += " (units)";
  return words;
}

std::vector<const VariantInfo *> bppsa::runtime::matchingVariants(const Model &model,
                                                                  const VariantRequest &request,
                                                                  int64_t samples) {
  std::vector<const VariantInfo *> matching;
  std::vector<std::string> all;
  for (const VariantInfo &variant : model.variants) {
    all.push_back(describe(variant));
    bool backward = request.backward == "auto" || request.backward == variant.backward;
    bool scan = request.scan == "auto" || variant.plan.empty() || request.scan == variant.plan;
    // A plan that is asked for by name is meant to run.
    bool wanted =
        request.scan == "auto" || request.backward == "sequential" || !variant.plan.empty();
    bool hasTwin =
        std::any_of(model.variants.begin(), model.variants.end(), [&](const VariantInfo &other) {
          return other.mapping != variant.mapping && other.backward == variant.backward;
        });
    bool mapping = hasTwin || request.mapping != "auto"
                       ? fitsMapping(variant.mapping, request.mapping, samples)
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
  std::vector<std::string> held = {model.target == "cuda" ? "blocks" : "lanes"};
  if (model.hasFunction(units))
    held.push_back("units");
  if (mapping != "auto" && std::find(held.begin(), held.end(), mapping) == held.end())
    fail("--mapping=", mapping, ": this program holds the mappings ", list(held));
  return held.size() == 1 || fitsMapping("lanes", mapping, samples) ? "infer" : units;
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

/// Seconds of the fastest of some calls of each, after one that warms up. The calls alternate, so
/// that what disturbs the machine for a while disturbs all of them.
static std::vector<double> timeCalls(std::vector<Call> &calls) {
  std::vector<double> best(calls.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < callsToTime; ++round)
    for (size_t i = 0; i < calls.size(); ++i) {
      double start = now();
      calls[i]();
      if (round > 0)
        best[i] = std::min(best[i], now() - start);
    }
  return best;
}

/// Lengths to measure at: factors of four up to the full one.
static std::vector<int64_t> measuringLengths(int64_t steps, bool dynamic) {
  if (!dynamic)
    return {steps};
  std::vector<int64_t> lengths;
  for (int64_t t = std::clamp<int64_t>(steps / 256, 1, 16); t < steps; t *= 4)
    lengths.push_back(t);
  lengths.push_back(steps);
  return lengths;
}

bool bppsa::runtime::isLongEnough(const Model &model, Symbols symbols, size_t timeSymbol,
                                  int64_t steps) {
  if (steps < model.leastSizes[timeSymbol])
    return false;
  symbols[timeSymbol] = steps;
  auto isFilled = [&](const ArrayInfo &info) {
    for (const Extent &extent : info.shape)
      if (evaluate(extent, symbols).value_or(1) < 1)
        return false;
    return true;
  };
  return std::all_of(model.outputs.begin(), model.outputs.end(), isFilled) &&
         (!model.targetArray || isFilled(*model.targetArray));
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

/// The candidates for which the device has memory; where it has it for none, the first, which needs
/// the least, so that its call says what is missing.
static std::vector<const VariantInfo *>
leaveOutTooLarge(Session &session, const std::string &function, Batch &batch,
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

const VariantInfo &bppsa::runtime::chooseVariant(Session &session, const VariantRequest &request,
                                                 const std::string &function, Batch &batch,
                                                 int64_t calls) {
  const Model &model = session.program.model;
  std::vector<const VariantInfo *> candidates = matchingVariants(model, request, batch.samples);
  // A file that cannot be used is refused even where it has nothing to decide.
  cost::DeviceConstants constants = chosenConstants(session.program, request);
  if (candidates.size() > 1)
    candidates = leaveOutTooLarge(session, function, batch, candidates);
  if (candidates.size() == 1)
    return *candidates.front();
  std::optional<size_t> symbol = timeSymbol(model);
  int64_t steps = symbol ? batch.symbols[*symbol].value_or(1)
                         : model.fixedSize(&ArrayInfo::timeAxis).value_or(1);
  // Without measurements: what does the least work, which is sequential, or seems to be the fastest
  // on a GPU.
  const VariantInfo *unmeasured = candidates.front();
  if (!model.deviceChains.empty()) {
    Prediction prediction = predictVariants(model, candidates, steps, batch.samples, constants);
    if (!request.calibration.empty() || prediction.lead > clearLead)
      return *prediction.best;
    unmeasured = prediction.best;
  }
  // Times of an emulated program say nothing of a GPU.
  if (isEmulatedProgram())
    return *unmeasured;
  // A model that fixes its length can only be timed at full length, several calls for each variant.
  if (!symbol && callsToTime * candidates.size() > measuringShare * calls)
    return *unmeasured;
  std::vector<CostModel> costs(candidates.size());
  double spent = 0, lastSpent = 0;
  int64_t last = 0;
  for (int64_t length : measuringLengths(steps, symbol.has_value())) {
    if (symbol && !isLongEnough(model, batch.symbols, *symbol, length))
      continue;
    if (last > 0) {
      double run = std::numeric_limits<double>::infinity();
      for (const CostModel &cost : costs)
        run = std::min(run, cost.predict(steps) * static_cast<double>(calls));
      double next = lastSpent * static_cast<double>(length) / static_cast<double>(last);
      if (spent + next > measuringShare * run)
        break;
    }
    double start = now();
    Dataset data = Dataset::synthetic(model, batch.samples, length, batch.symbols);
    Batch sample = data.whole();
    std::vector<Buffer> buffers;
    ViewTable extra = inputGradients(model, sample, buffers);
    // Beside the batch itself there may be no room for another one of this length.
    if (!std::all_of(candidates.begin(), candidates.end(), [&](const VariantInfo *candidate) {
          return session.fits(function + "." + candidate->name, sample, extra);
        }))
      break;
    std::vector<Call> timed;
    for (const VariantInfo *candidate : candidates)
      timed.push_back(session.prepare(function + "." + candidate->name, &sample, extra));
    std::vector<double> seconds = timeCalls(timed);
    for (size_t i = 0; i < candidates.size(); ++i)
      costs[i].addPoint(length, seconds[i]);
    // The variants may need much more than the one that is chosen.
    if (Device *device = programDevice())
      device->releaseArena();
    last = length;
    lastSpent = now() - start;
    spent += lastSpent;
  }
  // With one point only there is no telling how the variants grow.
  if (costs.front().points() < 2 && symbol && steps > 1)
    return *unmeasured;
  // A variant has to be faster by more than noise, so that equal runs choose alike.
  constexpr double clearly = 0.95;
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i)
    if (costs[i].predict(steps) < clearly * costs[best].predict(steps))
      best = i;
  return *candidates[best];
}

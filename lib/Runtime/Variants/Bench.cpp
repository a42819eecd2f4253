//===- Bench.cpp - Timing of training steps -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Variants/BenchMemory.h"
#include "Variants/Calibration.h"
#include "Variants/Stopwatch.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace bppsa::runtime;
namespace cost = bppsa::cost;
using nlohmann::ordered_json;

static int64_t sizeOf(const Model &model, std::optional<int64_t> flag,
                      std::optional<int64_t> ArrayInfo::*axis, int64_t fallback) {
  return flag ? *flag : model.fixedSize(axis).value_or(fallback);
}

static void addPrediction(ordered_json &object, const Program &program, const Options &options,
                          const VariantInfo &variant, int64_t steps, int64_t samples) {
  if (program.model.deviceChains.empty())
    return;
  cost::DeviceConstants constants = chosenConstants(program, options.variant);
  object["predicted_backward_us"] =
      cost::predict(program.model.deviceChains, planOf(variant), steps, samples, constants);
  object["constants"] = constants.name;
}

void bppsa::runtime::benchCommand(const Program &program, const Options &options) {
  const Model &model = program.model;
  bool hasTime = std::any_of(model.inputs.begin(), model.inputs.end(),
                             [](const ArrayInfo &input) { return input.timeAxis.has_value(); });
  if (options.seqLen && !hasTime)
    fail("--seq-len: found ", *options.seqLen, ", but no input of the model has a time axis");
  if (options.calibrate)
    return calibrateCommand(program, options);
  int64_t steps = hasTime ? sizeOf(model, options.seqLen, &ArrayInfo::timeAxis, 1000) : 1;
  if (options.batch)
    requireSamples(model);
  int64_t samples =
      model.hasSamples() ? sizeOf(model, options.batch, &ArrayInfo::batchAxis, 16) : 1;
  requireBenchMemory(program, steps, samples);
  Dataset data = Dataset::synthetic(model, samples, steps, {});
  Batch batch = data.whole();
  Session session(program, true);
  // Choose as for a long run, like training.
  const VariantInfo &variant =
      *chooseVariant(session, options.variant, "step", batch, 1000).variant;
  Call step = session.prepare("step." + variant.name, &batch);

  StepTimes times = timeSteps(session, step, options.repeat);
  ordered_json object = {
      {"forward_us", times.forward},
      {"backward_us", times.backward},
      {"update_us", times.update},
      {"step_us", times.whole},
      {"bytes", times.bytes + step.arenaBytes()},
      {"flops", model.flopsPerPosition * samples * steps},
      {"variant", variant.name},
      {"mapping", variant.mapping},
      {"plan", variant.plan.empty() ? ordered_json(nullptr) : ordered_json(variant.plan)},
      {"seq_len", hasTime ? ordered_json(steps) : ordered_json(nullptr)},
      {"batch", samples},
      {"repeat", options.repeat},
      {"threads", threads()},
      {"isa", program.functions.isa()}};
  if (Device *device = programDevice()) {
    object["arena_bytes"] = step.arenaBytes();
    object["device"] = device->description();
  }
  addPrediction(object, program, options, variant, steps, samples);
  printLine(object.dump());
}

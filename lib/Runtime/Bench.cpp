//===- Bench.cpp - Timing of training steps -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Commands.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace bppsa::runtime;
using nlohmann::ordered_json;

static double medianMicroseconds(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  size_t half = seconds.size() / 2;
  double median = seconds.size() % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  return median * 1e6;
}

/// The size of an axis: what the flag says, what the model fixes, else the default.
static int64_t sizeOf(const Model &model, std::optional<int64_t> flag,
                      std::optional<int64_t> ArrayInfo::*axis, int64_t fallback) {
  if (flag)
    return *flag;
  for (const ArrayInfo &input : model.inputs)
    if (std::optional<int64_t> at = input.*axis)
      if (const Extent &extent = input.shape[*at]; extent.kind == Extent::Kind::Number)
        return extent.number;
  return fallback;
}

void bppsa::runtime::benchCommand(const Program &program, const Options &options) {
  const Model &model = program.model;
  bool hasTime = std::any_of(model.inputs.begin(), model.inputs.end(),
                             [](const ArrayInfo &input) { return input.timeAxis.has_value(); });
  if (options.seqLen && !hasTime)
    fail("--seq-len: found ", *options.seqLen, ", but no input of the model has a time axis");
  int64_t steps = hasTime ? sizeOf(model, options.seqLen, &ArrayInfo::timeAxis, 1000) : 1;
  int64_t samples = sizeOf(model, options.batch, &ArrayInfo::batchAxis, 16);
  Dataset data = Dataset::synthetic(model, samples, steps, {});
  Batch batch = data.whole();
  Session session(program, true);
  // The choice is made as for a long run, so that it is the one training makes.
  const VariantInfo &variant = chooseVariant(session, options.variant, "step", batch, 1000);
  Call step = session.prepare("step." + variant.name, &batch);

  constexpr int64_t warmUp = 3;
  std::vector<double> forward, backward, update, whole;
  uint64_t bytes = 0;
  // A learning rate of 0 keeps the parameters, and with them the work of every step, the same.
  session.hyper[2] = session.hyper[3] = 1;
  session.hyper[6] = 1;
  for (int64_t i = 0; i < warmUp + options.repeat; ++i) {
    uint64_t before = liveBytes();
    resetPeakBytes();
    double start = now();
    step();
    double middle = now();
    session.gradientSquares();
    session.update();
    double end = now();
    bytes = std::max(bytes, peakBytes() - before);
    if (i < warmUp)
      continue;
    double phase = std::clamp(lastPhases().backward, start, middle);
    forward.push_back(phase - start);
    backward.push_back(middle - phase);
    update.push_back(end - middle);
    whole.push_back(end - start);
  }
  ordered_json object = {
      {"forward_us", medianMicroseconds(forward)},
      {"backward_us", medianMicroseconds(backward)},
      {"update_us", medianMicroseconds(update)},
      {"step_us", medianMicroseconds(whole)},
      {"bytes", bytes},
      {"flops", model.flopsPerPosition * samples * steps},
      {"variant", variant.name},
      {"mapping", variant.mapping},
      {"plan", variant.plan.empty() ? ordered_json(nullptr) : ordered_json(variant.plan)},
      {"seq_len", hasTime ? ordered_json(steps) : ordered_json(nullptr)},
      {"batch", samples},
      {"repeat", options.repeat},
      {"threads", threads()},
      {"isa", program.functions.isa()}};
  printLine(object.dump());
}

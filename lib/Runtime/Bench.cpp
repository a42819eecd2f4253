//===- Bench.cpp - Timing of training steps -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Commands.h"
#include "bppsa/Runtime/Device/Device.h"
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

namespace {
/// Times one training step, and counts the memory it takes.
class Stopwatch {
public:
  void start();
  void stepDone();
  void stop();

  /// Seconds of the last step; bytes that it had in use at most.
  double forward = 0, backward = 0, update = 0, whole = 0;
  uint64_t bytes = 0;

private:
  /// What runs later than the calls is timed where it runs.
  Device *device = programDevice();
  double begin = 0, middle = 0;
  uint64_t before = 0;
};
} // namespace

void Stopwatch::start() {
  before = device ? device->liveBytes() : liveBytes();
  device ? device->resetPeakBytes() : resetPeakBytes();
  begin = now();
  // A step reports its phases later, which counts.
  if (device)
    for (StepMark mark : {StepMark::Forward, StepMark::Backward})
      device->mark(mark);
}

void Stopwatch::stepDone() {
  if (device)
    device->mark(StepMark::Update);
  middle = now();
}

void Stopwatch::stop() {
  if (device) {
    device->mark(StepMark::End);
    device->synchronize();
    forward = device->seconds(StepMark::Forward, StepMark::Backward);
    backward = device->seconds(StepMark::Backward, StepMark::Update);
    update = device->seconds(StepMark::Update, StepMark::End);
    bytes = device->peakBytes() - before;
  }
  double end = now();
  whole = end - begin;
  if (device)
    return;
  double phase = std::clamp(lastPhases().backward, begin, middle);
  forward = phase - begin;
  backward = middle - phase;
  update = end - middle;
  bytes = peakBytes() - before;
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
  Stopwatch watch;
  // A learning rate of 0 keeps the parameters, and with them the work of every step, the same.
  session.hyper[2] = session.hyper[3] = 1;
  session.hyper[6] = 1;
  for (int64_t i = 0; i < warmUp + options.repeat; ++i) {
    watch.start();
    step.start();
    watch.stepDone();
    session.gradientSquares();
    session.update();
    watch.stop();
    bytes = std::max(bytes, watch.bytes);
    if (i < warmUp)
      continue;
    forward.push_back(watch.forward);
    backward.push_back(watch.backward);
    update.push_back(watch.update);
    whole.push_back(watch.whole);
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
  if (Device *device = programDevice())
    object["device"] = device->description();
  printLine(object.dump());
}

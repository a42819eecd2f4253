//===- Stopwatch.cpp - Times of training steps ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Variants/Stopwatch.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>

using namespace bppsa::runtime;

static double medianMicroseconds(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  size_t half = seconds.size() / 2;
  double median = seconds.size() % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  return median * 1e6;
}

namespace {
class Stopwatch {
public:
  void start();
  void stepDone();
  void stop();

  double forward = 0, backward = 0, update = 0, whole = 0;
  uint64_t bytes = 0;

private:
  /// Null in CPU programs.
  Device *device = programDevice();
  double begin = 0, middle = 0;
  uint64_t before = 0;
};
} // namespace

void Stopwatch::start() {
  before = device ? device->liveBytes() : liveBytes();
  device ? device->resetPeakBytes() : resetPeakBytes();
  begin = now();
  // The step overwrites these marks.
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

StepTimes bppsa::runtime::timeSteps(Session &session, Call &step, int64_t repeat) {
  constexpr int64_t warmUp = 3;
  std::vector<double> forward, backward, update, whole;
  uint64_t bytes = 0;
  Stopwatch watch;
  // A learning rate of 0 keeps the parameters.
  session.hyper[program::kRateSlot] = 0;
  session.hyper[program::kStepSlot] = session.hyper[program::kScaleSlot] = 1;
  session.hyper[program::kEpsilonSlot] = 1;
  if (Device *device = programDevice())
    device->wantMarks();
  for (int64_t i = 0; i < warmUp + repeat; ++i) {
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
  return {medianMicroseconds(forward), medianMicroseconds(backward), medianMicroseconds(update),
          medianMicroseconds(whole), bytes};
}

//===- RateSearch.cpp - Learning-rate range test --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Training/Trainer.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace bppsa::runtime;

static constexpr double kMinRate = 1e-6, kMaxRate = 10;
static constexpr int64_t kSearchedSteps = 140, kStepsPerLine = 7;
/// `kDivergence`: the multiple of the lowest loss that ends the search.
static constexpr double kSmoothing = 0.9, kDivergence = 4;

static std::string number(double value, int digits, int width = 0) {
  char line[64];
  snprintf(line, sizeof line, "%*.*g", width, digits, value);
  return line;
}

RunEnd Trainer::searchRate(TrainingObserver &who) {
  training.observer = &who;
  TrainState &state = training.state;
  printLine("        rate          loss");
  double mean = 0, least = 0, bestRate = kMinRate;
  int64_t step = 0;
  for (; step < kSearchedSteps; ++step) {
    if (training.isStopping())
      return RunEnd::Interrupted;
    if (state.batch == training.batchesPerEpoch)
      ++state.epoch, state.batch = 0;
    if (state.batch == 0) {
      source.beginEpoch();
      updates.beginEpoch();
    }
    double rate =
        kMinRate * std::pow(kMaxRate / kMinRate, static_cast<double>(step) / (kSearchedSteps - 1));
    training.searchedRate = rate;
    state.losses = {};
    try {
      updates.runBatch();
    } catch (const DivergedError &) {
      break;
    }
    mean = kSmoothing * mean + (1 - kSmoothing) * state.losses.total(training.model);
    double loss = mean / (1 - std::pow(kSmoothing, static_cast<double>(step + 1)));
    if (step == 0 || loss < least) {
      least = loss;
      bestRate = rate;
    }
    if (step % kStepsPerLine == 0)
      printLine(number(rate, 3, 12) + number(loss, 6, 14));
    if (step > 0 && loss > kDivergence * std::abs(least) && least != 0)
      break;
  }
  if (step == 0)
    fail(
        "--lr-find: the first step's loss or gradient is not finite; check the data and the model");
  if (step < kSearchedSteps)
    printLine("diverged at the rate " + number(*training.searchedRate, 3));
  // At the lowest loss, the rate is already too large.
  printLine("suggestion: --lr=" + number(bestRate / 10, 2));
  return RunEnd::Done;
}

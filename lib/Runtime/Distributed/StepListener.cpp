//===- StepListener.cpp - What training steps tell while they run -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/StepListener.h"
#include "bppsa/Runtime/ObjectInterface.h"

using namespace bppsa::runtime;

/// Of the steps of a thread; null where nobody listens, as in measurements.
static thread_local StepListener *stepListener = nullptr;

StepListening::StepListening(StepListener &listener) { stepListener = &listener; }
StepListening::~StepListening() { stepListener = nullptr; }

void bppsa_rt_await_parameter(int64_t address) {
  if (stepListener)
    stepListener->parameterNeeded(reinterpret_cast<const void *>(address));
}

void bppsa_rt_signal_gradient(int64_t address) {
  if (stepListener)
    stepListener->gradientReady(reinterpret_cast<const void *>(address));
}

void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed) {
  if (stepListener)
    stepListener->shareMeans(reinterpret_cast<float *>(address), count, transposed != 0);
}

float bppsa_rt_rank_weight() {
  return stepListener ? static_cast<float>(stepListener->lossWeight()) : 1;
}

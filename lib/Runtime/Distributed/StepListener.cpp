//===- StepListener.cpp - What training steps tell while they run -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/StepListener.h"
#include "bppsa/Runtime/ObjectInterface.h"

using namespace bppsa::runtime;

/// Of the steps of a thread; null where nobody listens, as in measurements.
static thread_local StepListener *current = nullptr;

StepListening::StepListening(StepListener &listener) { current = &listener; }
StepListening::~StepListening() { current = nullptr; }

void bppsa_rt_await_parameter(int64_t address) {
  if (current)
    current->parameterNeeded(reinterpret_cast<const void *>(address));
}

void bppsa_rt_signal_gradient(int64_t address) {
  if (current)
    current->gradientReady(reinterpret_cast<const void *>(address));
}

void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed) {
  if (current)
    current->shareMeans(reinterpret_cast<float *>(address), count, transposed != 0);
}

float bppsa_rt_rank_weight() { return current ? static_cast<float>(current->lossWeight()) : 1; }

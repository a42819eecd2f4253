//===- FakeModel.cpp - The fake model on the CPU --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FakeModel.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <unistd.h>

using namespace fake;

extern "C" {
void *_mlir_memref_to_llvm_alloc(uint64_t size);
void _mlir_memref_to_llvm_free(void *block);
}

namespace {
struct Forward {
  const float *x, *scale, *weight, *bias;
  float *scaled, *logits;
  int64_t steps, samples;
};
} // namespace

/// The body of a parallel loop over the samples, as a compiler would emit it.
static void forwardShare(int64_t first, int64_t last, void *captures) {
  auto *f = static_cast<const Forward *>(captures);
  for (int64_t b = first; b < last; ++b) {
    for (int64_t i = 0; i < features; ++i)
      f->scaled[b * features + i] = scaledMean(f->x, f->scale, f->steps, f->samples, b, i);
    for (int64_t k = 0; k < classes; ++k)
      f->logits[b * classes + k] = logit(f->scaled, f->weight, f->bias, b, k);
  }
}

/// args: x, scale, weight, bias. Allocates `scaled` and, unless given, `logits`.
static Forward runForward(void **args, float *logits) {
  int64_t samples = size(args[0], 1);
  auto *scaled =
      static_cast<float *>(_mlir_memref_to_llvm_alloc(samples * features * sizeof(float)));
  if (!logits)
    logits = static_cast<float *>(_mlir_memref_to_llvm_alloc(samples * classes * sizeof(float)));
  Forward f{data<float>(args[0]),
            data<float>(args[1]),
            data<float>(args[2]),
            data<float>(args[3]),
            scaled,
            logits,
            size(args[0], 0),
            samples};
  bppsa_rt_parallel_for(samples, forwardShare, &f);
  return f;
}

//===----------------------------------------------------------------------===//
// Exported functions
//===----------------------------------------------------------------------===//

/// args: x, scale, weight, bias, logits
static void infer(void **args) {
  _mlir_memref_to_llvm_free(runForward(args, data<float>(args[4])).scaled);
}

/// args: x, scale, weight, bias, target, loss[, correct]
static void eval(void **args) {
  Forward f = runForward(args, nullptr);
  double correct;
  *data<float>(args[5]) = lossAndGradient(f.logits, f.samples, data<char>(args[4]), correct);
#ifndef BPPSA_FAKE_MSE
  *data<double>(args[6]) = correct;
#endif
  _mlir_memref_to_llvm_free(f.scaled);
  _mlir_memref_to_llvm_free(f.logits);
}

/// args: x, scale, weight, bias, target, loss, gradients of weight and bias[, gradient of x]
static void gradients(void **args, bool ofInput) {
  bppsa_rt_phase(0);
  Forward f = runForward(args, nullptr);
  double correct;
  *data<float>(args[5]) = lossAndGradient(f.logits, f.samples, data<char>(args[4]), correct);
  bppsa_rt_phase(1);
  // The rest may be deferred to the next step.
  bppsa_rt_phase(2);
  for (int64_t k = 0; k < classes; ++k)
    parameterGradients(f.logits, f.scaled, f.samples, k, data<float>(args[6]),
                       data<float>(args[7]));
  for (int64_t at = 0, end = ofInput ? f.steps * f.samples * features : 0; at < end; ++at)
    data<float>(args[8])[at] = inputGradient(f.logits, f.weight, f.scale, f.steps, f.samples, at);
  _mlir_memref_to_llvm_free(f.scaled);
  _mlir_memref_to_llvm_free(f.logits);
}

/// Returns the number that an environment variable such as "scan:200" sets for a variant, or 0.
static unsigned valueOf(const char *variable, const std::string &variant) {
  const char *words = getenv(variable);
  std::string value = words ? words : "";
  return value.rfind(variant + ":", 0) == 0 ? std::stoul(value.substr(variant.size() + 1)) : 0;
}

/// Calls `tell` with the addresses of the given arguments.
static void tellOf(void (*tell)(int64_t), void **args, std::initializer_list<int> numbers) {
  for (int number : numbers)
    tell(reinterpret_cast<intptr_t>(data<char>(args[number])));
}

/// A step of a variant. FAKE_SLOW=VARIANT:N makes it N microseconds slower, FAKE_ZERO=VARIANT:1
/// zeroes its gradients.
static void stepOf(const char *variant, void **args) {
  if (unsigned delay = valueOf("FAKE_SLOW", variant))
    usleep(delay);
  gradients(args, false);
  if (valueOf("FAKE_ZERO", variant) == 0)
    return;
  std::fill_n(data<float>(args[6]), classes * features, 0.0f);
  std::fill_n(data<float>(args[7]), classes, 0.0f);
}

/// Announces needed parameters and final gradients, like steps of programs for several ranks and
/// steps that defer gradients.
static void tellingStepOf(const char *variant, void **args) {
  tellOf(bppsa_rt_await_parameter, args, {3, 2});
  stepOf(variant, args);
  tellOf(bppsa_rt_signal_gradient, args, {6, 7});
}
static void step(void **args) { tellingStepOf("sequential", args); }
static void scanStep(void **args) { tellingStepOf("scan", args); }
static void grad(void **args) { gradients(args, true); }

/// args: flat parameters, gradients, states, hyper
static void update(void **args) {
  for (int64_t i = 0, end = size(args[0], 0); i < end; ++i)
    updateElement(data<float>(args[0]), data<float>(args[1]), data<float>(args[2]),
                  data<float>(args[3]), data<float>(args[4]), i);
}

static void sumsq(void **args) {
  *data<double>(args[1]) = sumOfSquares(data<float>(args[0]), size(args[0], 0));
}

/// CPU programs have no arena.
static constexpr int64_t (*inferArena)(const int64_t *) = nullptr,
                                                     (*stepArena)(const int64_t *) = nullptr,
                                                     (*scanArena)(const int64_t *) = nullptr;

extern "C" {
#include "FakeModelTables.inc"

extern const bppsa_device_kernel bppsa_device_kernels[] = {{nullptr, nullptr}};
extern const bppsa_device_image bppsa_device_images[] = {{nullptr, nullptr, 0}};
}

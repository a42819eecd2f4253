//===- FakeModel.cpp - the model of FakeModel.h on the CPU ----------------===//
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

/// What a compiler makes of a parallel loop over the samples.
static void forwardShare(int64_t first, int64_t last, void *captures) {
  auto *f = static_cast<const Forward *>(captures);
  for (int64_t b = first; b < last; ++b) {
    for (int64_t i = 0; i < features; ++i)
      f->scaled[b * features + i] = scaledMean(f->x, f->scale, f->steps, f->samples, b, i);
    for (int64_t k = 0; k < classes; ++k)
      f->logits[b * classes + k] = logit(f->scaled, f->weight, f->bias, b, k);
  }
}

/// args: x, scale, weight, bias; allocates `scaled` and, where there is none, `logits`.
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

/// x, scale, weight, bias, logits
static void infer(void **args) {
  _mlir_memref_to_llvm_free(runForward(args, data<float>(args[4])).scaled);
}

/// x, scale, weight, bias, target, loss[, correct]
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

/// x, scale, weight, bias, target, loss, weight's gradient, bias's gradient[, x's gradient]
static void gradients(void **args, bool ofInput) {
  bppsa_rt_phase(0);
  Forward f = runForward(args, nullptr);
  double correct;
  *data<float>(args[5]) = lossAndGradient(f.logits, f.samples, data<char>(args[4]), correct);
  bppsa_rt_phase(1);
  // All that follows may be left to the next step.
  bppsa_rt_phase(2);
  for (int64_t k = 0; k < classes; ++k)
    parameterGradients(f.logits, f.scaled, f.samples, k, data<float>(args[6]),
                       data<float>(args[7]));
  for (int64_t at = 0, end = ofInput ? f.steps * f.samples * features : 0; at < end; ++at)
    data<float>(args[8])[at] = inputGradient(f.logits, f.weight, f.scale, f.steps, f.samples, at);
  _mlir_memref_to_llvm_free(f.scaled);
  _mlir_memref_to_llvm_free(f.logits);
}

/// What an environment variable says of a variant, as in "scan:200"; 0 where it names another one.
static unsigned valueOf(const char *variable, const std::string &variant) {
  const char *words = getenv(variable);
  std::string value = words ? words : "";
  return value.rfind(variant + ":", 0) == 0 ? std::stoul(value.substr(variant.size() + 1)) : 0;
}

/// Calls `tell` with the addresses of arguments.
static void tellOf(void (*tell)(int64_t), void **args, std::initializer_list<int> numbers) {
  for (int number : numbers)
    tell(reinterpret_cast<intptr_t>(data<char>(args[number])));
}

/// A step of a variant: FAKE_SLOW=VARIANT:N makes it N microseconds longer, FAKE_ZERO=VARIANT:1
/// makes its gradients zero.
static void stepOf(const char *variant, void **args) {
  if (unsigned delay = valueOf("FAKE_SLOW", variant))
    usleep(delay);
  gradients(args, false);
  if (valueOf("FAKE_ZERO", variant) == 0)
    return;
  std::fill_n(data<float>(args[6]), classes * features, 0.0f);
  std::fill_n(data<float>(args[7]), classes, 0.0f);
}

/// As steps of programs for several ranks, and of those that leave gradients to the next step, it
/// tells what it needs and what is final.
static void tellingStepOf(const char *variant, void **args) {
  tellOf(bppsa_rt_await_parameter, args, {3, 2});
  stepOf(variant, args);
  tellOf(bppsa_rt_signal_gradient, args, {6, 7});
}
static void step(void **args) { tellingStepOf("sequential", args); }
static void scanStep(void **args) { tellingStepOf("scan", args); }
static void grad(void **args) { gradients(args, true); }

/// flat parameters, gradients, states, hyper
static void update(void **args) {
  for (int64_t i = 0, end = size(args[0], 0); i < end; ++i)
    updateElement(data<float>(args[0]), data<float>(args[1]), data<float>(args[2]),
                  data<float>(args[3]), data<float>(args[4]), i);
}

static void sumsq(void **args) {
  *data<double>(args[1]) = sumOfSquares(data<float>(args[0]), size(args[0], 0));
}

/// A program for the CPU has no arena.
static constexpr int64_t (*inferArena)(const int64_t *) = nullptr,
                                                     (*stepArena)(const int64_t *) = nullptr,
                                                     (*scanArena)(const int64_t *) = nullptr;

extern "C" {
#include "FakeModelTables.inc"

extern const bppsa_device_kernel bppsa_device_kernels[] = {{nullptr, nullptr}};
extern const bppsa_device_image bppsa_device_images[] = {{nullptr, nullptr, 0}};
}

//===- FakeModel.cpp - a compiled model, written by hand ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Defines what a compiled model defines (ObjectInterface.h), in plain C++, so that the run-time
// library is tested without the compiler. The model is that of test/Runtime/fake_model.py:
//
//   logits[b, k] = sum_i weight[k, i] * scale[i] * mean_t x[t, b, i] + bias[k]
//
// `scale` is not trained. BPPSA_FAKE_MSE makes it a program with a mean-squared-error loss and
// plain SGD, else it has cross-entropy and Adam.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/ObjectInterface.h"

#include <cmath>
#include <cstring>

extern "C" {
void *_mlir_memref_to_llvm_alloc(uint64_t size);
void _mlir_memref_to_llvm_free(void *block);
void __kmpc_fork_call(void *, int32_t, void *, ...);
void __kmpc_for_static_init_8u(void *, int32_t, int32_t, int32_t *, uint64_t *, uint64_t *,
                               int64_t *, int64_t, int64_t);
void __kmpc_for_static_fini(void *, int32_t);
}

static constexpr int64_t features = 3, classes = 4;

/// The data behind a memref descriptor.
template <typename T> static T *data(void *argument) {
  auto *words = static_cast<int64_t *>(argument);
  return reinterpret_cast<T *>(words[1]) + words[2];
}

static int64_t size(void *argument, int64_t axis) {
  return static_cast<int64_t *>(argument)[3 + axis];
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

namespace {
struct Forward {
  const float *x, *scale, *weight, *bias;
  float *scaled, *logits;
  int64_t steps, samples;
};
} // namespace

static void forwardSample(const Forward &f, int64_t b) {
  for (int64_t i = 0; i < features; ++i) {
    float sum = 0;
    for (int64_t t = 0; t < f.steps; ++t)
      sum += f.x[(t * f.samples + b) * features + i];
    f.scaled[b * features + i] = sum / static_cast<float>(f.steps) * f.scale[i];
  }
  for (int64_t k = 0; k < classes; ++k) {
    float sum = f.bias[k];
    for (int64_t i = 0; i < features; ++i)
      sum += f.weight[k * features + i] * f.scaled[b * features + i];
    f.logits[b * classes + k] = sum;
  }
}

/// What a compiler makes of a parallel loop over the samples.
static void forwardShare(int32_t *thread, int32_t *, const Forward *f) {
  int32_t last = 0;
  uint64_t lower = 0, upper = f->samples - 1;
  int64_t stride = 1;
  __kmpc_for_static_init_8u(nullptr, *thread, 34, &last, &lower, &upper, &stride, 1, 0);
  for (uint64_t b = lower, count = upper - lower + 1; count > 0; ++b, --count)
    forwardSample(*f, static_cast<int64_t>(b));
  __kmpc_for_static_fini(nullptr, *thread);
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
  __kmpc_fork_call(nullptr, 1, reinterpret_cast<void *>(forwardShare), &f);
  return f;
}

//===----------------------------------------------------------------------===//
// Loss
//===----------------------------------------------------------------------===//

/// Turns the logits into the gradient of the loss; returns the loss and counts right answers.
static float lossAndGradient(const Forward &f, void *target, int64_t &correct) {
  double loss = 0;
  correct = 0;
  for (int64_t b = 0; b < f.samples; ++b) {
    float *row = f.logits + b * classes;
#ifdef BPPSA_FAKE_MSE
    float count = static_cast<float>(f.samples * classes);
    for (int64_t k = 0; k < classes; ++k) {
      float difference = row[k] - data<float>(target)[b * classes + k];
      loss += difference * difference / count;
      row[k] = 2 * difference / count;
    }
#else
    int64_t wanted = data<int64_t>(target)[b], best = 0;
    float sum = 0, largest = row[0];
    for (int64_t k = 1; k < classes; ++k)
      if (row[k] > largest)
        largest = row[best = k];
    for (int64_t k = 0; k < classes; ++k)
      sum += std::exp(row[k] - largest);
    correct += best == wanted;
    loss += (std::log(sum) + largest - row[wanted]) / f.samples;
    for (int64_t k = 0; k < classes; ++k)
      row[k] = (std::exp(row[k] - largest) / sum - (k == wanted)) / f.samples;
#endif
  }
  return static_cast<float>(loss);
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
  int64_t correct;
  *data<float>(args[5]) = lossAndGradient(f, args[4], correct);
#ifndef BPPSA_FAKE_MSE
  *data<int64_t>(args[6]) = correct;
#endif
  _mlir_memref_to_llvm_free(f.scaled);
  _mlir_memref_to_llvm_free(f.logits);
}

/// x, scale, weight, bias, target, loss, weight's gradient, bias's gradient[, x's gradient]
static void gradients(void **args, bool ofInput) {
  bppsa_rt_phase(0);
  Forward f = runForward(args, nullptr);
  int64_t correct;
  *data<float>(args[5]) = lossAndGradient(f, args[4], correct);
  bppsa_rt_phase(1);
  float *weight = data<float>(args[6]), *bias = data<float>(args[7]);
  memset(weight, 0, classes * features * sizeof(float));
  memset(bias, 0, classes * sizeof(float));
  for (int64_t b = 0; b < f.samples; ++b)
    for (int64_t k = 0; k < classes; ++k) {
      float g = f.logits[b * classes + k];
      bias[k] += g;
      for (int64_t i = 0; i < features; ++i)
        weight[k * features + i] += g * f.scaled[b * features + i];
    }
  for (int64_t at = 0, end = ofInput ? f.steps * f.samples * features : 0; at < end; ++at) {
    int64_t i = at % features, b = at / features % f.samples;
    float sum = 0;
    for (int64_t k = 0; k < classes; ++k)
      sum += f.logits[b * classes + k] * f.weight[k * features + i];
    data<float>(args[8])[at] = sum * f.scale[i] / static_cast<float>(f.steps);
  }
  _mlir_memref_to_llvm_free(f.scaled);
  _mlir_memref_to_llvm_free(f.logits);
}

static void step(void **args) { gradients(args, false); }
static void grad(void **args) { gradients(args, true); }

/// flat parameters, gradients, states, hyper
static void update(void **args) {
  float *p = data<float>(args[0]), *m = data<float>(args[2]), *v = data<float>(args[3]);
  const float *g = data<float>(args[1]), *h = data<float>(args[4]);
  for (int64_t i = 0, end = size(args[0], 0); i < end; ++i) {
    float gradient = g[i] * h[3] + h[1] * p[i];
#ifdef BPPSA_FAKE_MSE
    (void)m;
    (void)v;
    p[i] -= h[0] * gradient;
#else
    m[i] = h[4] * m[i] + (1 - h[4]) * gradient;
    v[i] = h[5] * v[i] + (1 - h[5]) * gradient * gradient;
    float mHat = m[i] / (1 - std::pow(h[4], h[2])), vHat = v[i] / (1 - std::pow(h[5], h[2]));
    p[i] -= h[0] * mHat / (std::sqrt(vHat) + h[6]);
#endif
  }
}

static void sumsq(void **args) {
  const float *g = data<float>(args[0]);
  double sum = 0;
  for (int64_t i = 0, end = size(args[0], 0); i < end; ++i)
    sum += static_cast<double>(g[i]) * g[i];
  *data<double>(args[1]) = sum;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

#ifdef BPPSA_FAKE_MSE
#define LOSS R"("loss": "mse", "optimizer": "sgd", "optimizer_states": 0,)"
#define TARGET R"("dtype": "f32", "shape": ["B", 4], "batch_axis": 0)"
#define EVAL R"("loss"])"
#else
#define LOSS R"("loss": "cross-entropy", "optimizer": "adam", "optimizer_states": 2,)"
#define TARGET R"("dtype": "i64", "shape": ["B"], "batch_axis": 0, "classes": 4)"
#define EVAL R"("loss", "correct"])"
#endif
#define FORWARD R"("input:x", "param:scale", "param:head.weight", "param:head.bias", )"
#define STEP R"("target", "loss", "grad:head.weight", "grad:head.bias")"

extern "C" {
extern const char bppsa_model_json[] = R"({"format": 1, "version": "0.1.0", "source": "fake.onnx",
  "target": "cpu", "loss_on": "logits", )" LOSS R"("target_array": {)" TARGET
                                       R"(}, "symbols": ["T", "B"],
  "inputs": [{"name": "x", "dtype": "f32", "shape": ["T", "B", 3], "batch_axis": 1, "time_axis": 0,
              "gradient": true}],
  "outputs": [{"name": "logits", "dtype": "f32", "shape": ["B", 4], "batch_axis": 0,
               "time_axis": null}],
  "parameters": [
    {"name": "scale", "shape": [3], "trained": false, "offset": 170, "stride": 4},
    {"name": "head.weight", "shape": [4, 3], "trained": true, "offset": 205, "stride": 4},
    {"name": "head.bias", "shape": [4], "trained": true, "offset": 261, "stride": 4}],
  "variants": [{"name": "sequential", "backward": "sequential"},
               {"name": "scan", "backward": "scan", "plan": "chunked:32"}],
  "hyper": {"lr": 0.001, "weight_decay": 0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
  "flops_per_position": 6,
  "functions": {"infer": [)" FORWARD R"("output:logits"],
    "eval": [)" FORWARD R"("target", )" EVAL R"(,
    "step.sequential": [)" FORWARD STEP R"(],
    "grad.sequential": [)" FORWARD STEP R"(, "input_grad:x"],
    "step.scan": [)" FORWARD STEP R"(],
    "grad.scan": [)" FORWARD STEP R"(, "input_grad:x"],
    "update": ["flat_params", "flat_grads", "flat_state0", "flat_state1", "hyper"],
    "sumsq": ["flat_grads", "sumsq"]}})";
extern const uint64_t bppsa_model_json_size = sizeof(bppsa_model_json) - 1;

extern const unsigned char bppsa_model_onnx[] = {
#include "FakeModelOnnx.inc"
};
extern const uint64_t bppsa_model_onnx_size = sizeof(bppsa_model_onnx);

extern const bppsa_function bppsa_functions[] = {
    {"infer", infer},          {"eval", eval},      {"step.sequential", step},
    {"grad.sequential", grad}, {"step.scan", step}, {"grad.scan", grad},
    {"update", update},        {"sumsq", sumsq},    {nullptr, nullptr}};

static const void *const noKernels[] = {nullptr};
extern const bppsa_instruction_set bppsa_instruction_sets[] = {{"x86-64-v2", noKernels},
                                                               {nullptr, nullptr}};
const void *const *bppsa_kernels = nullptr;
}

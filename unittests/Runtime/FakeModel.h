//===- FakeModel.h - A hand-written compiled model ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Defines the symbols of a compiled model (ObjectInterface.h) in plain C++, to test the run-time
// library without the compiler. test/Runtime/fake_model.py computes the same:
//   logits[b, k] = sum_i weight[k, i] * scale[i] * mean_t x[t, b, i] + bias[k]
// `scale` is not trained. With BPPSA_FAKE_MSE, the program has a mean-squared-error loss and plain
// SGD, otherwise cross-entropy and Adam. FakeModel.cpp runs on the CPU and FakeDeviceModel.cpp with
// device kernels. Both use the arithmetic below and produce identical bits.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_RUNTIME_FAKEMODEL_H
#define BPPSA_UNITTESTS_RUNTIME_FAKEMODEL_H

#include <cmath>
#include <cstdint>

namespace fake {

constexpr int64_t features = 3, classes = 4;

/// Returns the data of a memref descriptor.
template <typename T> T *data(void *argument) {
  auto *words = static_cast<int64_t *>(argument);
  return reinterpret_cast<T *>(words[1]) + words[2];
}

inline int64_t size(void *argument, int64_t axis) {
  return static_cast<int64_t *>(argument)[3 + axis];
}

/// scale[i] * mean_t x[t, b, i]
inline float scaledMean(const float *x, const float *scale, int64_t steps, int64_t samples,
                        int64_t b, int64_t i) {
  float sum = 0;
  for (int64_t t = 0; t < steps; ++t)
    sum += x[(t * samples + b) * features + i];
  return sum / static_cast<float>(steps) * scale[i];
}

inline float logit(const float *scaled, const float *weight, const float *bias, int64_t b,
                   int64_t k) {
  float sum = bias[k];
  for (int64_t i = 0; i < features; ++i)
    sum += weight[k * features + i] * scaled[b * features + i];
  return sum;
}

/// Replaces the logits by the gradient of the loss. Returns the loss and sets `correct` to the
/// number of correct predictions.
inline float lossAndGradient(float *logits, int64_t samples, const void *target, double &correct) {
  double loss = 0;
  correct = 0;
  for (int64_t b = 0; b < samples; ++b) {
    float *row = logits + b * classes;
#ifdef BPPSA_FAKE_MSE
    float count = static_cast<float>(samples * classes);
    for (int64_t k = 0; k < classes; ++k) {
      float difference = row[k] - static_cast<const float *>(target)[b * classes + k];
      loss += difference * difference / count;
      row[k] = 2 * difference / count;
    }
#else
    int64_t wanted = static_cast<const int64_t *>(target)[b], best = 0;
    float sum = 0, largest = row[0];
    for (int64_t k = 1; k < classes; ++k)
      if (row[k] > largest)
        largest = row[best = k];
    for (int64_t k = 0; k < classes; ++k)
      sum += std::exp(row[k] - largest);
    correct += best == wanted;
    loss += (std::log(sum) + largest - row[wanted]) / samples;
    for (int64_t k = 0; k < classes; ++k)
      row[k] = (std::exp(row[k] - largest) / sum - (k == wanted)) / samples;
#endif
  }
  return static_cast<float>(loss);
}

/// Computes the gradients of bias[k] and weight[k, :] from `delta`, the gradient of the logits.
inline void parameterGradients(const float *delta, const float *scaled, int64_t samples, int64_t k,
                               float *weight, float *bias) {
  bias[k] = 0;
  for (int64_t i = 0; i < features; ++i)
    weight[k * features + i] = 0;
  for (int64_t b = 0; b < samples; ++b) {
    float g = delta[b * classes + k];
    bias[k] += g;
    for (int64_t i = 0; i < features; ++i)
      weight[k * features + i] += g * scaled[b * features + i];
  }
}

/// Returns the gradient of element `at` of x.
inline float inputGradient(const float *delta, const float *weight, const float *scale,
                           int64_t steps, int64_t samples, int64_t at) {
  int64_t i = at % features, b = at / features % samples;
  float sum = 0;
  for (int64_t k = 0; k < classes; ++k)
    sum += delta[b * classes + k] * weight[k * features + i];
  return sum * scale[i] / static_cast<float>(steps);
}

/// Applies the optimizer to element i of the flat parameters, gradients and states. `h` is
/// Session::hyper.
inline void updateElement(float *p, const float *g, float *m, float *v, const float *h, int64_t i) {
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

inline double sumOfSquares(const float *g, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(g[i]) * g[i];
  return sum;
}

} // namespace fake

#endif // BPPSA_UNITTESTS_RUNTIME_FAKEMODEL_H

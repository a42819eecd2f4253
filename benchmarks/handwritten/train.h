//===- train.h - the program around a hand-written cell ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
// A program that times, or checks, the training step of one recurrent layer with a classifier on
// its last state: forward, cross-entropy, backward, Adam. Everything but T is fixed when it is
// compiled (SIZE_H, SIZE_I, SIZE_B, SIZE_C), as someone who writes a loop by hand for one model
// would do; it shows how fast the machine can be.
//
// Included at the end of a file that defines `Cell`.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_TRAIN_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_TRAIN_H

#include "trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// Visits the parameters that are not padding in the order of the check file: for each group R
/// [H][H] (if it sees h), W [H][I] (if it sees x), b [H]; then the head's weight [C][H] and bias
/// [C].
template <typename Visit> void forEachParameter(Visit visit) {
  auto matrix = [&](int offset, int rows, int stride, int columns) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        visit(offset + i * stride + j);
  };
  for (int p = 0; p < Cell::kGroups; ++p) {
    if (p < Cell::kHidden)
      matrix(Layout::hidden(p), kH, kHPad, kH);
    if (Cell::seesInput(p))
      matrix(Layout::input(p), kH, kIPad, kI);
    matrix(Layout::bias(p), 1, 0, kH);
  }
  matrix(Layout::head(0), kC, kHPad, kH);
  matrix(Layout::headBias, 1, 0, kC);
}

/// Reads parameters, x and target (all float) from `inPath`; writes loss and gradients to
/// `outPath`.
inline int check(Trainer &trainer, int steps, const char *inPath, const char *outPath) {
  std::FILE *in = std::fopen(inPath, "rb"), *out = std::fopen(outPath, "wb");
  if (!in || !out) {
    std::fprintf(stderr, "cannot open %s or %s\n", inPath, outPath);
    return 1;
  }
  auto next = [&] {
    float value = 0;
    if (std::fread(&value, sizeof value, 1, in) != 1) {
      std::fprintf(stderr, "%s is too short\n", inPath);
      std::exit(1);
    }
    return value;
  };
  forEachParameter([&](int index) { trainer.parameters[index] = next(); });
  std::vector<float> x(size_t(steps) * kB * kI);
  for (float &value : x)
    value = next();
  std::vector<int> target(kB);
  for (int &value : target)
    value = int(next());
  trainer.step(x.data(), target.data());
  float loss = trainer.loss;
  std::fwrite(&loss, sizeof loss, 1, out);
  forEachParameter(
      [&](int index) { std::fwrite(&trainer.gradient[index], sizeof(float), 1, out); });
  std::fclose(in);
  return std::fclose(out) ? 1 : 0;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

inline int measure(Trainer &trainer, int steps, int repeat) {
  // A fixed pseudo-random start: the time does not depend on the values as long as they are
  // ordinary.
  unsigned seed = 1;
  auto uniform = [&] {
    return float((seed = seed * 1664525u + 1013904223u) >> 8) / float(1 << 24);
  };
  float bound = 1 / std::sqrt(float(kH));
  forEachParameter([&](int index) { trainer.parameters[index] = bound * (2 * uniform() - 1); });
  std::vector<float> x(size_t(steps) * kB * kI);
  for (float &value : x)
    value = uniform();
  std::vector<int> target(kB);
  for (int sample = 0; sample < kB; ++sample)
    target[sample] = sample % kC;

  trainer.step(x.data(), target.data());
  std::vector<double> forward, backward, update, step;
  for (int i = 0; i < repeat; ++i) {
    Times times = trainer.step(x.data(), target.data());
    forward.push_back(times.forward);
    backward.push_back(times.backward);
    update.push_back(times.update);
    step.push_back(times.step);
  }
  std::printf(
      "{\"forward_us\": %.3f, \"backward_us\": %.3f, \"update_us\": %.3f, \"step_us\": %.3f, "
      "\"variant\": \"%s x %d\"}\n",
      median(forward), median(backward), median(update), median(step),
      Block::kSamples == 1 ? "unit lanes" : "batch lanes", kLanes);
  return std::isfinite(trainer.loss) ? 0 : 1;
}

int main(int count, char **arguments) {
  if (count != 4 && count != 6) {
    std::fprintf(stderr, "usage: %s STEPS REPEAT THREADS [IN OUT]\n", arguments[0]);
    return 2;
  }
  int steps = std::atoi(arguments[1]), repeat = std::atoi(arguments[2]),
      threads = std::atoi(arguments[3]);
  if (steps < 1 || repeat < 1 || threads < 1) {
    std::fprintf(stderr, "STEPS, REPEAT and THREADS must be at least 1\n");
    return 2;
  }
  flushDenormals();
  Trainer trainer(steps, threads);
  return count == 6 ? check(trainer, steps, arguments[4], arguments[5])
                    : measure(trainer, steps, repeat);
}

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_TRAIN_H

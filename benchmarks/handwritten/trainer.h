//===- trainer.h - one training step of a hand-written cell -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_TRAINER_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_TRAINER_H

#include "batch_lanes.h"
#include "pool.h"
#include "unit_lanes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

using Block = std::conditional_t<kB % kLanes == 0, BatchLanes, UnitLanes>;
constexpr int kBlocks = kB / Block::kSamples;

struct Times {
  double forward, backward, update, step;
};

class Trainer {
public:
  Trainer(int steps, int threads) : pool(std::min(threads, kBlocks)) {
    for (int block = 0; block < kBlocks; ++block)
      blocks.emplace_back(steps);
    for (int thread = 0; thread < pool.threads(); ++thread)
      partial.push_back(allocate<float>(Layout::size));
  }

  /// One step; x is [steps][kB][kI], target [kB].
  Times step(const float *x, const int *target) {
    auto start = Clock::now();
    packed.pack(parameters.get());
    forward(x, target);
    auto forwardEnd = Clock::now();
    backward();
    auto backwardEnd = Clock::now();
    update();
    auto end = Clock::now();
    return {micro(start, forwardEnd), micro(forwardEnd, backwardEnd), micro(backwardEnd, end),
            micro(start, end)};
  }

  Buffer<float> parameters = allocate<float>(Layout::size),
                gradient = allocate<float>(Layout::size);
  double loss = 0;

private:
  using Clock = std::chrono::steady_clock;
  static double micro(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
  }

  void forward(const float *x, const int *target) {
    pool.run(kBlocks, [&](int, int block) {
      blocks[block].forward(packed, parameters.get(), x + size_t(block) * Block::kSamples * kI);
      blocks[block].finalState(state.get() + block * Block::kSamples * kH);
    });
    loss = 0;
    for (int sample = 0; sample < kB; ++sample) {
      float *logit = logits.get() + sample * kC, largest = -INFINITY, total = 0;
      for (int c = 0; c < kC; ++c) {
        logit[c] = parameters[Layout::headBias + c];
        for (int u = 0; u < kH; ++u)
          logit[c] += parameters[Layout::head(c) + u] * state[sample * kH + u];
        largest = std::max(largest, logit[c]);
      }
      for (int c = 0; c < kC; ++c)
        total += std::exp(logit[c] - largest);
      loss += (std::log(total) + largest - logit[target[sample]]) / kB;
      for (int c = 0; c < kC; ++c)
        logit[c] = (std::exp(logit[c] - largest) / total - (c == target[sample])) / kB;
    }
  }

  void backward() {
    float *head = partial[0].get();
    for (auto &one : partial)
      std::memset(one.get(), 0, Layout::size * sizeof(float));
    std::memset(cotangent.get(), 0, kB * kH * sizeof(float));
    for (int sample = 0; sample < kB; ++sample)
      for (int c = 0; c < kC; ++c) {
        float d = logits[sample * kC + c];
        head[Layout::headBias + c] += d;
        for (int u = 0; u < kH; ++u) {
          head[Layout::head(c) + u] += d * state[sample * kH + u];
          cotangent[sample * kH + u] += d * parameters[Layout::head(c) + u];
        }
      }
    pool.run(kBlocks, [&](int thread, int block) {
      blocks[block].backward(packed, parameters.get(),
                             cotangent.get() + block * Block::kSamples * kH, partial[thread].get());
    });
    std::memcpy(gradient.get(), partial[0].get(), Layout::size * sizeof(float));
    for (size_t thread = 1; thread < partial.size(); ++thread)
      for (int i = 0; i < Layout::size; ++i)
        gradient[i] += partial[thread][i];
  }

  void update() {
    constexpr float kRate = 1e-3f, kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;
    ++count;
    const float rate = kRate / (1 - std::pow(kBeta1, float(count)));
    const float scale = 1 / std::sqrt(1 - std::pow(kBeta2, float(count)));
    float *__restrict w = parameters.get(), *__restrict m = first.get(),
                      *__restrict v = second.get();
    const float *__restrict g = gradient.get();
    for (int i = 0; i < Layout::size; ++i) {
      m[i] += (1 - kBeta1) * (g[i] - m[i]);
      v[i] += (1 - kBeta2) * (g[i] * g[i] - v[i]);
      w[i] -= rate * m[i] / (std::sqrt(v[i]) * scale + kEpsilon);
    }
  }

  Pool pool;
  Block::Packed packed;
  std::vector<Block> blocks;
  std::vector<Buffer<float>> partial;
  Buffer<float> state = allocate<float>(kB * kH), logits = allocate<float>(kB * kC);
  Buffer<float> cotangent = allocate<float>(kB * kH);
  Buffer<float> first = allocate<float>(Layout::size), second = allocate<float>(Layout::size);
  int count = 0;
};

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_TRAINER_H

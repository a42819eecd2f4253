//===- unit_lanes.h - a vector holds kLanes units of one sample -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_UNIT_LANES_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_UNIT_LANES_H

#include "parameters.h"
#include "products.h"

#include <algorithm>
#include <cstring>
#include <utility>

struct PackedColumns {
  static constexpr int kUnits = vectors(kH);
  Buffer<float> hidden = allocate<float>(kH * Cell::kHidden * kHPad);
  Buffer<float> input = allocate<float>(Cell::kGroups * kI * kHPad);
  Buffer<float> transposed = allocate<float>(Cell::kHidden * kH * kHPad);

  void pack(const float *parameters) {
    packColumns<Cell::kHidden * kUnits>(hidden.get(), kH, [&](int k, int n) {
      return n % kHPad < kH ? parameters[Layout::hidden(n / kHPad) + n % kHPad * kHPad + k] : 0.0f;
    });
    for (int p = 0; p < Cell::kGroups; ++p)
      for (int i = 0; i < kI; ++i)
        for (int u = 0; u < kH; ++u)
          input[(p * kI + i) * kHPad + u] = parameters[Layout::input(p) + u * kIPad + i];
    for (int p = 0; p < Cell::kHidden; ++p)
      packColumns<kUnits>(transposed.get() + p * kH * kHPad, kH, [&](int k, int n) {
        return parameters[Layout::hidden(p) + k * kHPad + n];
      });
  }
};

class UnitLanes {
public:
  using Packed = PackedColumns;
  static constexpr int kSamples = 1;

  explicit UnitLanes(int steps)
      : steps(steps), slots(allocate<Vec>(size_t(steps + 1) * kStates)),
        saved(allocate<Vec>(size_t(steps) * Cell::kSaved * kUnits)) {}

  void forward(const Packed &packed, const float *parameters, const float *input) {
    x = input;
    for (int begin = 0; begin < steps; begin += kChunk) {
      int count = std::min(steps - begin, kChunk);
      Vec *pre = work.get();
      for (int step = 0; step < count; ++step)
        for (int u = 0; u < kGroups; ++u)
          pre[step * kGroups + u] = load(parameters + Layout::bias(0) + u * kLanes);
      for (int p = 0; p < Cell::kGroups; ++p)
        if (Cell::seesInput(p))
          gemm(reinterpret_cast<float *>(pre + p * kUnits), kGroups * kLanes,
               {x + size_t(begin) * kB * kI, kB * kI, 1}, packed.input.get() + p * kI * kHPad,
               kHPad, count, kUnits, kI);
      for (int step = 0; step < count; ++step, pre += kGroups) {
        Vec *slot = slots.get() + size_t(begin + step) * kStates;
        multiplyColumns<Cell::kHidden * kUnits>(pre, packed.hidden.get(),
                                                reinterpret_cast<const float *>(slot + kState), kH);
        Cell::template forward<kUnits>(pre, slot, slot + kStates,
                                       saved.get() + size_t(begin + step) * Cell::kSaved * kUnits);
      }
    }
  }

  void finalState(float *h) const {
    std::memcpy(h, slots.get() + size_t(steps) * kStates + kState, kH * sizeof(float));
  }

  void backward(const Packed &packed, const float *, const float *finalCotangent, float *gradient) {
    alignas(64) Vec cotangent[kStates] = {};
    std::memcpy(cotangent + kState, finalCotangent, kH * sizeof(float));
    for (int end = steps; end > 0; end -= std::min(end, kChunk)) {
      int count = std::min(end, kChunk);
      for (int step = count - 1; step >= 0; --step) {
        const Vec *slot = slots.get() + size_t(end - count + step) * kStates;
        Vec *d = work.get() + step * kGroups;
        Cell::template backward<kUnits>(saved.get() +
                                            size_t(end - count + step) * Cell::kSaved * kUnits,
                                        slot, slot + kStates, cotangent, d);
        for (int p = 0; p < Cell::kHidden; ++p)
          multiplyColumns<kUnits>(cotangent + kState, packed.transposed.get() + p * kH * kHPad,
                                  reinterpret_cast<const float *>(d + p * kUnits), kH);
      }
      accumulate(end - count, count, gradient);
    }
    for (int p = 0; p < Cell::kGroups; ++p)
      for (int i = 0; i < kI; ++i)
        for (int u = 0; u < kH; ++u)
          gradient[Layout::input(p) + u * kIPad + i] +=
              std::exchange(inputSum[(p * kI + i) * kHPad + u], 0.0f);
  }

private:
  static constexpr int kUnits = vectors(kH), kGroups = Cell::kGroups * kUnits;
  static constexpr int kStates = Cell::kStates * kUnits, kState = kStates - kUnits;
  static constexpr int kChunk = 64;

  void accumulate(int begin, int count, float *gradient) {
    const float *d = reinterpret_cast<const float *>(work.get());
    const float *h =
        reinterpret_cast<const float *>(slots.get() + size_t(begin) * kStates + kState);
    for (int p = 0; p < Cell::kGroups; ++p) {
      if (p < Cell::kHidden)
        gemm(gradient + Layout::hidden(p), kHPad, {d + p * kHPad, 1, kGroups * kLanes}, h,
             kStates * kLanes, kH, kUnits, count);
      if (Cell::seesInput(p))
        gemm(inputSum.get() + p * kI * kHPad, kHPad, {x + size_t(begin) * kB * kI, 1, kB * kI},
             d + p * kHPad, kGroups * kLanes, kI, kUnits, count);
    }
    for (int u = 0; u < kGroups; ++u) {
      float *to = gradient + Layout::bias(0) + u * kLanes;
      Vec total = load(to);
      for (int step = 0; step < count; ++step)
        total += work[step * kGroups + u];
      store(to, total);
    }
  }

  int steps;
  const float *x = nullptr;
  Buffer<Vec> slots, saved;
  Buffer<Vec> work = allocate<Vec>(kChunk * kGroups);
  Buffer<float> inputSum = allocate<float>(Cell::kGroups * kI * kHPad);
};

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_UNIT_LANES_H

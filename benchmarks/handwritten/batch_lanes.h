//===- batch_lanes.h - a vector holds one unit of kLanes samples -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_BATCH_LANES_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_BATCH_LANES_H

#include "parameters.h"
#include "products.h"

#include <algorithm>
#include <utility>
#include <vector>

/// Weights in the order in which the steps read them.
struct PackedRows {
  Buffer<float> hidden = allocate<float>(Cell::kHidden * kH * kH);
  Buffer<float> input = allocate<float>(Cell::kGroups * kH * kI);
  Buffer<float> transposed = allocate<float>(Cell::kHidden * kH * kH);

  void pack(const float *parameters) {
    std::vector<float> rows(Cell::kHidden * kH * kH);
    for (int p = 0; p < Cell::kGroups; ++p) {
      packRows<kH>(input.get() + p * kH * kI, parameters + Layout::input(p), kIPad, kI);
      if (p >= Cell::kHidden)
        continue;
      const float *weight = parameters + Layout::hidden(p);
      packRows<kH>(hidden.get() + p * kH * kH, weight, kHPad, kH);
      for (int i = 0; i < kH; ++i)
        for (int j = 0; j < kH; ++j)
          rows[(j * Cell::kHidden + p) * kH + i] = weight[i * kHPad + j];
    }
    packRows<kH>(transposed.get(), rows.data(), Cell::kHidden * kH, Cell::kHidden * kH);
  }
};

class BatchLanes {
public:
  using Packed = PackedRows;
  static constexpr int kSamples = kLanes;

  explicit BatchLanes(int steps)
      : steps(steps), slots(allocate<Vec>(size_t(steps + 1) * kSlot)),
        saved(allocate<Vec>(size_t(steps) * Cell::kSaved * kH)) {}

  /// x points to this block's first sample of step 0.
  void forward(const Packed &packed, const float *parameters, const float *x) {
    alignas(64) Vec pre[Cell::kGroups * kH];
    for (int t = 0; t < steps; ++t) {
      Vec *slot = slots.get() + size_t(t) * kSlot;
      loadInput(slot + kStates, x + size_t(t) * kB * kI);
      for (int u = 0; u < Cell::kGroups * kH; ++u)
        pre[u] = splat(parameters[Layout::bias(u / kH) + u % kH]);
      for (int p = 0; p < Cell::kGroups; ++p) {
        if (p < Cell::kHidden)
          multiplyRows<kH>(pre + p * kH, packed.hidden.get() + p * kH * kH, slot + kState, kH);
        if (Cell::seesInput(p))
          multiplyRows<kH>(pre + p * kH, packed.input.get() + p * kH * kI, slot + kStates, kI);
      }
      Cell::template forward<kH>(pre, slot, slot + kSlot,
                                 saved.get() + size_t(t) * Cell::kSaved * kH);
    }
  }

  void finalState(float *h) const {
    const Vec *last = slots.get() + size_t(steps) * kSlot + kState;
    for (int sample = 0; sample < kLanes; ++sample)
      for (int u = 0; u < kH; ++u)
        h[sample * kH + u] = last[u][sample];
  }

  /// Adds the parameters' gradients for the cotangent of the final state, [kSamples][kH].
  void backward(const Packed &packed, const float *, const float *finalCotangent, float *gradient) {
    alignas(64) Vec cotangent[kStates] = {};
    for (int u = 0; u < kH; ++u)
      for (int sample = 0; sample < kLanes; ++sample)
        cotangent[kState + u][sample] = finalCotangent[sample * kH + u];
    for (int end = steps; end > 0; end -= std::min(end, kChunk)) {
      int count = std::min(end, kChunk);
      for (int step = count - 1; step >= 0; --step) {
        const Vec *slot = slots.get() + size_t(end - count + step) * kSlot;
        Vec *d = delta.get() + step * kDelta;
        Cell::template backward<kH>(saved.get() + size_t(end - count + step) * Cell::kSaved * kH,
                                    slot, slot + kSlot, cotangent, d);
        multiplyRows<kH>(cotangent + kState, packed.transposed.get(), d, Cell::kHidden * kH);
      }
      accumulate(slots.get() + size_t(end - count) * kSlot, count, gradient);
    }
    finish(gradient);
  }

private:
  static constexpr int kStates = Cell::kStates * kH, kState = kStates - kH;
  static constexpr int kSlot = kStates + kI, kDelta = Cell::kGroups * kH;
  static constexpr int kChunk = 16;
  /// Few columns would leave lanes empty: keep one partial sum a lane instead.
  static constexpr bool kHiddenLanes = kH < 48 && kH % kLanes != 0;
  static constexpr bool kInputLanes = kI < 48 && kI % kLanes != 0;

  static void loadInput(Vec *to, const float *x) {
    for (int column = 0; column < kI; column += kLanes) {
      int count = std::min(kI - column, kLanes);
      Vec rows[kLanes];
      if constexpr (kI == 1) {
        to[0] = load(x);
        return;
      }
      for (int sample = 0; sample < kLanes; ++sample)
        rows[sample] = loadPart(x + sample * kI + column, count);
      transpose(rows);
      for (int i = 0; i < count; ++i)
        to[column + i] = rows[i];
    }
  }

  /// Writes columns [first, first + count) of the chunk's slots as rows of samples.
  static void toRows(float *to, int stride, const Vec *slot, int first, int count, int chunk) {
    for (int step = 0; step < chunk; ++step)
      for (int column = 0; column < count; column += kLanes) {
        Vec rows[kLanes] = {};
        for (int i = 0; i < std::min(kLanes, count - column); ++i)
          rows[i] = slot[step * kSlot + first + column + i];
        transpose(rows);
        for (int sample = 0; sample < kLanes; ++sample)
          store(to + (step * kLanes + sample) * stride + column, rows[sample]);
      }
  }

  void accumulate(const Vec *slot, int count, float *gradient) {
    for (int step = 0; step < count; ++step)
      for (int u = 0; u < kDelta; ++u)
        biasSum[u] += delta[step * kDelta + u];
    if constexpr (!kHiddenLanes || !kInputLanes)
      for (int u = 0; u < kDelta; ++u)
        for (int step = 0; step < count; ++step)
          deltaRows[u * kChunk + step] = delta[step * kDelta + u];
    if constexpr (!kHiddenLanes)
      toRows(hiddenRows.get(), kHPad, slot, kState, kH, count);
    if constexpr (!kInputLanes)
      toRows(inputRows.get(), kIPad, slot, kStates, kI, count);

    for (int p = 0; p < Cell::kGroups; ++p) {
      Strided left = {reinterpret_cast<const float *>(deltaRows.get() + p * kH * kChunk),
                      kChunk * kLanes, 1};
      if (p < Cell::kHidden) {
        if constexpr (kHiddenLanes)
          accumulateLanes<kH, kH>(hiddenSum.get() + p * kH * kH, delta.get() + p * kH, kDelta,
                                  slot + kState, kSlot, count);
        else
          gemm(gradient + Layout::hidden(p), kHPad, left, hiddenRows.get(), kHPad, kH, vectors(kH),
               count * kLanes);
      }
      if (Cell::seesInput(p)) {
        if constexpr (kInputLanes)
          accumulateLanes<kH, kI>(inputSum.get() + p * kH * kI, delta.get() + p * kH, kDelta,
                                  slot + kStates, kSlot, count);
        else
          gemm(gradient + Layout::input(p), kIPad, left, inputRows.get(), kIPad, kH, vectors(kI),
               count * kLanes);
      }
    }
  }

  /// Adds the sums that were kept a lane each, and clears them.
  void finish(float *gradient) {
    for (int u = 0; u < kDelta; ++u)
      gradient[Layout::bias(u / kH) + u % kH] += sum(std::exchange(biasSum[u], Vec{}));
    if constexpr (kHiddenLanes)
      for (int i = 0; i < Cell::kHidden * kH * kH; ++i)
        gradient[Layout::hidden(0) + i / kH * kHPad + i % kH] +=
            sum(std::exchange(hiddenSum[i], Vec{}));
    if constexpr (kInputLanes)
      for (int i = 0; i < Cell::kGroups * kH * kI; ++i)
        gradient[Layout::input(0) + i / kI * kIPad + i % kI] +=
            sum(std::exchange(inputSum[i], Vec{}));
  }

  int steps;
  Buffer<Vec> slots, saved;
  Buffer<Vec> delta = allocate<Vec>(kChunk * kDelta), biasSum = allocate<Vec>(kDelta);
  Buffer<Vec> deltaRows = allocate<Vec>(kChunk * kDelta);
  Buffer<Vec> hiddenSum = allocate<Vec>(kHiddenLanes ? Cell::kHidden * kH * kH : 0);
  Buffer<Vec> inputSum = allocate<Vec>(kInputLanes ? Cell::kGroups * kH * kI : 0);
  Buffer<float> hiddenRows = allocate<float>(kChunk * kLanes * kHPad);
  Buffer<float> inputRows = allocate<float>(kChunk * kLanes * kIPad);
};

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_BATCH_LANES_H

//===- train.h - one training step of a hand-written cell -------*- C++ -*-===//
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

#include "pool.h"
#include "products.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

constexpr int kH = SIZE_H, kI = SIZE_I, kB = SIZE_B, kC = SIZE_C;
constexpr int kHPad = vectors(kH) * kLanes, kIPad = vectors(kI) * kLanes;

//===----------------------------------------------------------------------===//
// Buffers and parameters
//===----------------------------------------------------------------------===//

template <typename T> struct Free {
  void operator()(T *data) const { std::free(data); }
};
template <typename T> using Buffer = std::unique_ptr<T[], Free<T>>;

/// Zeroed memory aligned to a cache line.
template <typename T> Buffer<T> allocate(size_t count) {
  size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
  T *data = static_cast<T *>(std::aligned_alloc(64, std::max<size_t>(bytes, 64)));
  if (!data) {
    std::fprintf(stderr, "out of memory\n");
    std::exit(1);
  }
  std::memset(static_cast<void *>(data), 0, bytes);
  return Buffer<T>(data);
}

/// Offsets into one flat array. Matrices are row-major with rows padded to whole vectors; pads stay
/// zero.
namespace Layout {
constexpr int hidden(int group) { return group * kH * kHPad; }
constexpr int input(int group) { return hidden(Cell::kHidden) + group * kH * kIPad; }
constexpr int bias(int group) { return input(Cell::kGroups) + group * kHPad; }
constexpr int head(int row) { return bias(Cell::kGroups) + row * kHPad; }
constexpr int headBias = head(kC);
constexpr int size = headBias + vectors(kC) * kLanes;
} // namespace Layout

//===----------------------------------------------------------------------===//
// Batch lanes: a vector holds one unit of kLanes samples
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Unit lanes: a vector holds kLanes units of one sample
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The training step
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

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

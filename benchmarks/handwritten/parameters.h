//===- parameters.h - the parameters of a hand-written cell -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
// Sizes are macros (SIZE_H, SIZE_I, SIZE_B, SIZE_C); the file that includes this one has defined
// `Cell`.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_PARAMETERS_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_PARAMETERS_H

#include "products.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

constexpr int kH = SIZE_H, kI = SIZE_I, kB = SIZE_B, kC = SIZE_C;
constexpr int kHPad = vectors(kH) * kLanes, kIPad = vectors(kI) * kLanes;

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

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_PARAMETERS_H

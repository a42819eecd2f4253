//===- products.h - register-blocked products -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
// The three inner products of the hand-written cells. Every tile keeps its sums in registers.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_PRODUCTS_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_PRODUCTS_H

#include "vector.h"

/// Largest divisor of `n` that is at most `limit`.
constexpr int divisorUpTo(int n, int limit) {
  int best = 1;
  for (int d = 1; d <= limit && d <= n; ++d)
    if (n % d == 0)
      best = d;
  return best;
}

/// Number of vectors that hold `n` floats.
constexpr int vectors(int n) { return (n + kLanes - 1) / kLanes; }

/// Sums a tile may keep: the registers of the machine less those for operands.
constexpr int kTile = kLanes == 16 ? 24 : 12;

//===----------------------------------------------------------------------===//
// Lanes are samples: out[row] += sum_k weight[row][k] * in[k]
//===----------------------------------------------------------------------===//

/// Packs row-major weights so that the rows of one tile lie together for each k.
template <int Rows> void packRows(float *packed, const float *weight, int stride, int columns) {
  constexpr int kRows = divisorUpTo(Rows, kTile);
  for (int block = 0; block < Rows; block += kRows)
    for (int k = 0; k < columns; ++k)
      for (int r = 0; r < kRows; ++r)
        *packed++ = weight[(block + r) * stride + k];
}

/// out[Rows] += packed * in[columns]; `packed` as made by packRows.
template <int Rows>
inline void multiplyRows(Vec *out, const float *packed, const Vec *in, int columns) {
  constexpr int kRows = divisorUpTo(Rows, kTile);
  for (int block = 0; block < Rows; block += kRows) {
    Vec total[kRows];
    for (int r = 0; r < kRows; ++r)
      total[r] = out[block + r];
    for (int k = 0; k < columns; ++k, packed += kRows) {
      Vec x = in[k];
#pragma GCC unroll 24
      for (int r = 0; r < kRows; ++r)
        total[r] += packed[r] * x;
    }
    for (int r = 0; r < kRows; ++r)
      out[block + r] = total[r];
  }
}

/// partial[i][k] += a[i] * b[k] summed over `steps` pairs of vectors; the lanes are summed by the
/// caller at the end. For few columns, where giving the lanes to columns would waste them.
template <int Rows, int Columns>
inline void accumulateLanes(Vec *partial, const Vec *a, int aStride, const Vec *b, int bStride,
                            int steps) {
  constexpr int kColumns = divisorUpTo(Columns, 6);
  constexpr int kRows = divisorUpTo(Rows, kTile / kColumns);
  for (int i = 0; i < Rows; i += kRows)
    for (int k = 0; k < Columns; k += kColumns) {
      Vec total[kRows][kColumns];
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c)
          total[r][c] = partial[(i + r) * Columns + k + c];
      for (int step = 0; step < steps; ++step) {
        const Vec *left = a + step * aStride + i, *right = b + step * bStride + k;
#pragma GCC unroll 24
        for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 6
          for (int c = 0; c < kColumns; ++c)
            total[r][c] += left[r] * right[c];
      }
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c)
          partial[(i + r) * Columns + k + c] = total[r][c];
    }
}

//===----------------------------------------------------------------------===//
// Lanes are columns: out[m][n] += sum_k a(m, k) * b[k][n]
//===----------------------------------------------------------------------===//

/// a(m, k) = a[m * row + k * step].
struct Strided {
  const float *data;
  long row, step;
};

template <int M, int N>
inline void gemmTile(float *out, int outStride, Strided a, const float *b, int bStride, int depth) {
  Vec total[M][N];
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      total[m][n] = load(out + m * outStride + n * kLanes);
  for (int k = 0; k < depth; ++k) {
    Vec right[N];
    for (int n = 0; n < N; ++n)
      right[n] = load(b + long(k) * bStride + n * kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      float left = a.data[m * a.row + k * a.step];
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n)
        total[m][n] += left * right[n];
    }
  }
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      store(out + m * outStride + n * kLanes, total[m][n]);
}

/// out[rows][columns] += a * b; strides in floats, columns in whole vectors.
inline void gemm(float *out, int outStride, Strided a, const float *b, int bStride, int rows,
                 int columns, int depth) {
  constexpr int kRows = kTile / 2;
  for (int n = 0; n < columns; n += 2) {
    bool pair = n + 1 < columns;
    for (int m = 0; m < rows;) {
      float *to = out + long(m) * outStride + n * kLanes;
      Strided left = {a.data + m * a.row, a.row, a.step};
      const float *right = b + n * kLanes;
      if (rows - m >= kRows) {
        pair ? gemmTile<kRows, 2>(to, outStride, left, right, bStride, depth)
             : gemmTile<kRows, 1>(to, outStride, left, right, bStride, depth);
        m += kRows;
      } else if (rows - m >= 4) {
        pair ? gemmTile<4, 2>(to, outStride, left, right, bStride, depth)
             : gemmTile<4, 1>(to, outStride, left, right, bStride, depth);
        m += 4;
      } else {
        pair ? gemmTile<1, 2>(to, outStride, left, right, bStride, depth)
             : gemmTile<1, 1>(to, outStride, left, right, bStride, depth);
        m += 1;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Lanes are outputs of one sample: out[n] += sum_k in[k] * weight[k][n]
//===----------------------------------------------------------------------===//

/// Vectors of output that one tile keeps.
template <int N> constexpr int kColumnTile = divisorUpTo(N, 8);

/// Packs [depth][N vectors] so that one tile's weights are contiguous. weight(k, n) gives an
/// element.
template <int N, typename Element> void packColumns(float *packed, int depth, Element weight) {
  for (int tile = 0; tile < N; tile += kColumnTile<N>)
    for (int k = 0; k < depth; ++k)
      for (int n = 0; n < kColumnTile<N> * kLanes; ++n)
        *packed++ = weight(k, tile * kLanes + n);
}

/// out[N] += in[depth] * packed. The sum over k is split into independent chains that hide the
/// latency of the multiply-add where N alone does not.
template <int N>
inline void multiplyColumns(Vec *out, const float *packed, const float *in, int depth) {
  constexpr int kWide = kColumnTile<N>;
  constexpr int kChains = kWide >= 6 ? 1 : kWide >= 3 ? 2 : 4;
  for (int tile = 0; tile < N; tile += kWide) {
    Vec total[kChains][kWide] = {};
    for (int n = 0; n < kWide; ++n)
      total[0][n] = out[tile + n];
    int k = 0;
    for (; k + kChains <= depth; k += kChains)
#pragma GCC unroll 4
      for (int chain = 0; chain < kChains; ++chain)
#pragma GCC unroll 8
        for (int n = 0; n < kWide; ++n)
          total[chain][n] += in[k + chain] * load(packed + ((k + chain) * kWide + n) * kLanes);
    for (; k < depth; ++k)
      for (int n = 0; n < kWide; ++n)
        total[0][n] += in[k] * load(packed + (k * kWide + n) * kLanes);
    packed += depth * kWide * kLanes;
    for (int n = 0; n < kWide; ++n) {
      for (int chain = 1; chain < kChains; ++chain)
        total[0][n] += total[chain][n];
      out[tile + n] = total[0][n];
    }
  }
}

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_PRODUCTS_H

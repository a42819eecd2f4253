//===- vector.h - SIMD vectors and elementary functions ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
// One native vector of floats and what the hand-written cells need of it. Accuracy of sigmoid and
// tanh: a few units of 1e-7, absolute.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_BENCHMARKS_HANDWRITTEN_VECTOR_H
#define BPPSA_BENCHMARKS_HANDWRITTEN_VECTOR_H

#include <cstring>
#include <immintrin.h>
#include <utility>

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int kLanes = 8;
#else
#error "the hand-written loops need AVX2 with FMA, or AVX-512"
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));

inline Vec splat(float value) { return Vec{} + value; }

inline Vec load(const float *from) {
  Vec result;
  std::memcpy(&result, from, sizeof(Vec));
  return result;
}

/// Loads `count` floats and fills the rest with zeros.
inline Vec loadPart(const float *from, int count) {
  if (count >= kLanes)
    return load(from);
  Vec result = {};
  std::memcpy(&result, from, 4 * count);
  return result;
}

inline void store(float *to, Vec value) { std::memcpy(to, &value, sizeof(Vec)); }

inline float sum(Vec value) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    total += value[lane];
  return total;
}

/// 1 / x, within two units in the last place for normal x.
inline Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
#else
  Vec guess = (Vec)_mm256_rcp_ps((__m256)x);
#endif
  return guess + guess * (1.0f - x * guess);
}

/// 2^x for |x| <= 126.
inline Vec vexp2(Vec x) {
  // 2^f on [-1/2, 1/2], relative error 2e-08 before rounding.
  const auto polynomial = [](Vec f) {
    Vec p = splat(0.000153707049f);
    p = p * f + 0.00133998482f;
    p = p * f + 0.00961837359f;
    p = p * f + 0.0555032901f;
    p = p * f + 0.240226477f;
    p = p * f + 0.693147182f;
    return p * f + 1.0f;
  };
#if defined(__AVX512F__)
  Vec whole = (Vec)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT);
  return (Vec)_mm512_scalef_ps((__m512)polynomial(x - whole), (__m512)whole);
#else
  __m256 whole = _mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(whole), 23);
  Vec fraction = polynomial(x - (Vec)whole);
  return (Vec)_mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_castps_si256((__m256)fraction), exponent));
#endif
}

inline Vec clamp(Vec x, float limit) {
#if defined(__AVX512F__)
  return (Vec)_mm512_min_ps(_mm512_max_ps((__m512)x, _mm512_set1_ps(-limit)),
                            _mm512_set1_ps(limit));
#else
  return (Vec)_mm256_min_ps(_mm256_max_ps((__m256)x, _mm256_set1_ps(-limit)),
                            _mm256_set1_ps(limit));
#endif
}

constexpr float kLog2E = 1.44269504f;

inline Vec vsigmoid(Vec x) { return reciprocal(1.0f + vexp2(clamp(x * -kLog2E, 64.0f))); }

inline Vec vtanh(Vec x) {
  return 1.0f - 2.0f * reciprocal(1.0f + vexp2(clamp(x * (2 * kLog2E), 64.0f)));
}

namespace detail {
// Lane L of the pair (a, b) with a's lanes that have bit D cleared, and b's moved onto those that
// have it.
template <int D, int... L> Vec lower(Vec a, Vec b, std::integer_sequence<int, L...>) {
  return __builtin_shufflevector(a, b, ((L & D) ? kLanes + L - D : L)...);
}
template <int D, int... L> Vec upper(Vec a, Vec b, std::integer_sequence<int, L...>) {
  return __builtin_shufflevector(a, b, ((L & D) ? kLanes + L : L + D)...);
}
template <int D> void transposeStage(Vec *rows) {
  for (int r = 0; r < kLanes; ++r) {
    if (r & D)
      continue;
    Vec a = rows[r], b = rows[r + D];
    rows[r] = lower<D>(a, b, std::make_integer_sequence<int, kLanes>());
    rows[r + D] = upper<D>(a, b, std::make_integer_sequence<int, kLanes>());
  }
}
} // namespace detail

/// Transposes a square of kLanes vectors in place.
inline void transpose(Vec *rows) {
  detail::transposeStage<1>(rows);
  detail::transposeStage<2>(rows);
  detail::transposeStage<4>(rows);
  if constexpr (kLanes == 16)
    detail::transposeStage<8>(rows);
}

#endif // BPPSA_BENCHMARKS_HANDWRITTEN_VECTOR_H

//===- lstm.cpp - hand-written LSTM -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "products.h"

/// i, f, o = s(W x + R h + b), g = tanh(W x + R h + b), c' = f c + i g, h' = o tanh(c')
struct Cell {
  /// i, f, g, o.
  static constexpr int kGroups = 4, kHidden = 4;
  static constexpr bool seesInput(int) { return true; }
  /// State: c, then h. Saved: i, f, g, o, tanh(c').
  static constexpr int kStates = 2, kSaved = 5;

  template <int Units>
  static void forward(const Vec *pre, const Vec *state, Vec *next, Vec *saved) {
    for (int u = 0; u < Units; ++u) {
      Vec i = vsigmoid(pre[u]), f = vsigmoid(pre[Units + u]);
      Vec g = vtanh(pre[2 * Units + u]), o = vsigmoid(pre[3 * Units + u]);
      Vec c = f * state[u] + i * g;
      Vec t = vtanh(c);
      next[u] = c;
      next[Units + u] = o * t;
      saved[u] = i;
      saved[Units + u] = f;
      saved[2 * Units + u] = g;
      saved[3 * Units + u] = o;
      saved[4 * Units + u] = t;
    }
  }

  template <int Units>
  static void backward(const Vec *saved, const Vec *state, const Vec *, Vec *cotangent,
                       Vec *delta) {
    for (int u = 0; u < Units; ++u) {
      Vec i = saved[u], f = saved[Units + u], g = saved[2 * Units + u], o = saved[3 * Units + u];
      Vec t = saved[4 * Units + u];
      Vec dh = cotangent[Units + u];
      Vec dc = cotangent[u] + dh * o * (1.0f - t * t);
      delta[u] = dc * g * i * (1.0f - i);
      delta[Units + u] = dc * state[u] * f * (1.0f - f);
      delta[2 * Units + u] = dc * i * (1.0f - g * g);
      delta[3 * Units + u] = dh * t * o * (1.0f - o);
      cotangent[u] = dc * f;
      cotangent[Units + u] = Vec{};
    }
  }
};

#include "train.h"

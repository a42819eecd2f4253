//===- rnn.cpp - hand-written tanh RNN --------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "products.h"

/// h' = tanh(W x + R h + b)
struct Cell {
  /// Groups of H pre-activations; the first kHidden of them see h, those with seesInput see x.
  static constexpr int kGroups = 1, kHidden = 1;
  static constexpr bool seesInput(int) { return true; }
  /// State: h alone. Nothing is saved: tanh' is 1 - h'^2.
  static constexpr int kStates = 1, kSaved = 0;

  /// Pointers are to arrays of `units` vectors a group; `state` holds the carried states other than
  /// h, then h.
  template <int Units> static void forward(const Vec *pre, const Vec *, Vec *next, Vec *) {
    for (int u = 0; u < Units; ++u)
      next[u] = vtanh(pre[u]);
  }

  /// Turns the cotangent of the next state into the part of the previous state's cotangent that
  /// does not pass through R, and gives the cotangents of the pre-activations.
  template <int Units>
  static void backward(const Vec *, const Vec *, const Vec *next, Vec *cotangent, Vec *delta) {
    for (int u = 0; u < Units; ++u) {
      delta[u] = cotangent[u] * (1.0f - next[u] * next[u]);
      cotangent[u] = Vec{};
    }
  }
};

#include "train.h"

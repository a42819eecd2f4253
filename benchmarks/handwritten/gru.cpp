//===- gru.cpp - hand-written GRU -------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "products.h"

/// r = s(Wr x + Rr h + br), z = s(Wz x + Rz h + bz), q = Rn h + bq,
/// n = tanh(Wn x + bn + r q), h' = (1 - z) n + z h
struct Cell {
  /// r, z, q, Wn x + bn.
  static constexpr int kGroups = 4, kHidden = 3;
  static constexpr bool seesInput(int group) { return group != 2; }
  /// Saved: r, z, q, n.
  static constexpr int kStates = 1, kSaved = 4;

  template <int Units>
  static void forward(const Vec *pre, const Vec *state, Vec *next, Vec *saved) {
    for (int u = 0; u < Units; ++u) {
      Vec r = vsigmoid(pre[u]), z = vsigmoid(pre[Units + u]), q = pre[2 * Units + u];
      Vec n = vtanh(pre[3 * Units + u] + r * q);
      next[u] = n + z * (state[u] - n);
      saved[u] = r;
      saved[Units + u] = z;
      saved[2 * Units + u] = q;
      saved[3 * Units + u] = n;
    }
  }

  template <int Units>
  static void backward(const Vec *saved, const Vec *state, const Vec *, Vec *cotangent,
                       Vec *delta) {
    for (int u = 0; u < Units; ++u) {
      Vec r = saved[u], z = saved[Units + u], q = saved[2 * Units + u], n = saved[3 * Units + u];
      Vec g = cotangent[u];
      Vec dn = g * (1.0f - z) * (1.0f - n * n);
      delta[u] = dn * q * r * (1.0f - r);
      delta[Units + u] = g * (state[u] - n) * z * (1.0f - z);
      delta[2 * Units + u] = dn * r;
      delta[3 * Units + u] = dn;
      cotangent[u] = g * z;
    }
  }
};

#include "train.h"

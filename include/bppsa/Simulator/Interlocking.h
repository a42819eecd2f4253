//===- Interlocking.h - modules with losses of their own --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Interlocking backpropagation: each of K modules, one on each device, has a loss of its own and
// learns from that of the module N - 1 further on. These are other gradients than those of the last
// loss, unless N is K.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_INTERLOCKING_H
#define BPPSA_SIMULATOR_INTERLOCKING_H

#include <cstdint>

namespace bppsa::schedule {

/// What a module takes of one batch: forward, one cotangent through it, gradients and update of its
/// parameters, its loss with what leads to it, and what passes to or from the next module.
struct ModuleCost {
  double forward, backward, weight, head = 0, hop = 0;
};

/// The time from step to step of `modules` modules, with one batch in each of them at a time, where
/// a module is updated before its next forward operation. Cotangents of `window` losses are passed
/// on one by one where `streams`, otherwise once all of them have come.
double getInterlockingPeriod(int32_t modules, int32_t window, ModuleCost cost, bool streams = true);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_INTERLOCKING_H

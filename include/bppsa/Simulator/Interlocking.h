//===- Interlocking.h - modules with local losses ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Interlocking backpropagation: each of K modules, one per device, has a local loss and is trained
// by the loss N - 1 modules later. Unless N is K, gradients are not those of the final loss.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_INTERLOCKING_H
#define BPPSA_SIMULATOR_INTERLOCKING_H

#include <cstdint>

namespace bppsa::schedule {

/// Times of a module for one batch; `head` is its local loss, and `hop` a transfer to a neighbour.
struct ModuleCost {
  double forward, backward, weight, head = 0, hop = 0;
};

/// Returns the time between steps. Each module holds one batch and is updated before its next
/// forward operation. With `streams`, cotangents of the `window` losses are passed on one by one,
/// otherwise after the last one.
double getInterlockingPeriod(int32_t modules, int32_t window, ModuleCost cost, bool streams = true);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_INTERLOCKING_H

//===- Interlocking.h - modules with local losses ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Interlocking backpropagation: each of K modules, one per device, has a local loss and is trained
// by the loss of the module N - 1 further on. Unless N is K, its gradients differ from the
// gradients of the final loss.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_INTERLOCKING_H
#define BPPSA_SIMULATOR_INTERLOCKING_H

#include <cstdint>

namespace bppsa::schedule {

/// Times of a module for one batch: forward, the VJP of one cotangent, parameter gradients with
/// their update, the local head with its loss (`head`), and one transfer to or from the next module
/// (`hop`).
struct ModuleCost {
  double forward, backward, weight, head = 0, hop = 0;
};

/// Returns the time between steps of `modules` modules. Each module holds one batch and is updated
/// before its next forward operation. Cotangents of `window` losses are passed on one by one if
/// `streams` is set, and otherwise after the last of them has arrived.
double getInterlockingPeriod(int32_t modules, int32_t window, ModuleCost cost, bool streams = true);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_INTERLOCKING_H

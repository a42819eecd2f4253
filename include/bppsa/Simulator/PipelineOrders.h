//===- PipelineOrders.h - pipeline schedules in closed form -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINEORDERS_H
#define BPPSA_SIMULATOR_PIPELINEORDERS_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// All forward operations of a device, followed by its fused backward operations. Several stages of
/// a device run in sequence for each microbatch.
DeviceOrders orderGPipe(const Pipeline &pipeline);

/// One forward operation and one fused backward operation in turns, for one stage per device.
DeviceOrders orderOneForwardOneBackward(const Pipeline &pipeline);

/// How far a device runs ahead of the last stage, and how long it defers parameter gradients.
struct DeferralRule {
  /// Forward operations before the first backward operation, per following stage.
  double warmUp;
  /// Deferred parameter gradients per preceding stage (`deferral`), plus a constant (`base`).
  double deferral, base = 0;
};

/// The handcrafted schedules of Zero Bubble; after the warm-up, all stages hold the same number of
/// microbatches.
constexpr DeferralRule kZeroBubbleH1 = {1, 1}, kZeroBubbleH2 = {2, 2};

/// Alternates forward and backward operations after a warm-up and defers parameter gradients, for
/// one stage per device. No device keeps more than `limit` activations (at least 1), in units of
/// its activations per microbatch.
DeviceOrders orderZeroBubble(const Pipeline &pipeline, DeferralRule rule, double limit);

/// Counts the leading forward operations of each device that depend only on other such operations.
/// Only these may run while the previous update can still be rolled back. `placement` is the device
/// of each stage; a stage may read results of any earlier stage.
std::vector<size_t> countLeadingForward(const DeviceOrders &orders,
                                        const std::vector<int32_t> &placement);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINEORDERS_H

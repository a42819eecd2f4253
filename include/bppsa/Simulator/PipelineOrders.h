//===- PipelineOrders.h - pipeline schedules in closed form -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINEORDERS_H
#define BPPSA_SIMULATOR_PIPELINEORDERS_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// All forward operations, then all fused backward operations.
DeviceOrders orderGPipe(const Pipeline &pipeline);

/// Forward and fused backward operations in turns; one stage per device.
DeviceOrders orderOneForwardOneBackward(const Pipeline &pipeline);

/// How far a device runs ahead, and how long it defers parameter gradients.
struct DeferralRule {
  /// Forward operations before the first backward one, per following stage.
  double warmUp;
  /// Deferred gradients per preceding stage, plus a constant.
  double deferral, base = 0;
};

/// The handcrafted schedules of Zero Bubble.
constexpr DeferralRule kZeroBubbleH1 = {1, 1}, kZeroBubbleH2 = {2, 2};

/// Alternates forward and backward operations and defers parameter gradients, for one stage per
/// device. No device keeps more than `limit` (at least 1) times its activations per microbatch.
DeviceOrders orderZeroBubble(const Pipeline &pipeline, DeferralRule rule, double limit);

/// Counts leading forward operations that depend only on each other. Only these may run while the
/// last update can be rolled back. `placement` is the device of each stage.
std::vector<size_t> countLeadingForward(const DeviceOrders &orders,
                                        const std::vector<int32_t> &placement);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINEORDERS_H

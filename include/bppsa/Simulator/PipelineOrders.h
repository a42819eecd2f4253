//===- PipelineOrders.h - pipeline schedules by definition ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINEORDERS_H
#define BPPSA_SIMULATOR_PIPELINEORDERS_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// All forward operations of a device, then its fused backward operations; stages of a device
/// follow each other for every microbatch.
DeviceOrders orderGPipe(const Pipeline &pipeline);

/// One fused backward operation after each forward one, for one stage on each device.
DeviceOrders orderOneForwardOneBackward(const Pipeline &pipeline);

/// How far a device runs ahead of its last stage, and how late it forms gradients of parameters.
struct DeferralRule {
  /// Forward operations before the first backward one, for each stage that follows.
  double warmUp;
  /// Gradients of parameters that wait, for each stage that precedes, and on every stage.
  double deferral, base = 0;
};

/// The handcrafted schedules of Zero Bubble, after whose warm-up every stage holds as many
/// microbatches.
constexpr DeferralRule kZeroBubbleH1 = {1, 1}, kZeroBubbleH2 = {2, 2};

/// Forward and backward operations take turns after a warm-up, and gradients of parameters wait,
/// for one stage on each device. No device keeps more activations than `limit`, at least 1, in
/// those that it keeps of one microbatch.
DeviceOrders orderZeroBubble(const Pipeline &pipeline, DeferralRule rule, double limit);

/// How many operations at the beginning of the order of each device are forward ones that read
/// nothing but results of such operations: all that runs of a step while the update before it may
/// still be taken back. `placement` has the device of each stage; a stage may read of all before
/// it.
std::vector<size_t> countLeadingForward(const DeviceOrders &orders,
                                        const std::vector<int32_t> &placement);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINEORDERS_H

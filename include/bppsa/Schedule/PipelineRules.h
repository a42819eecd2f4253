//===- PipelineRules.h - schedules chosen while they run --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SCHEDULE_PIPELINERULES_H
#define BPPSA_SCHEDULE_PIPELINERULES_H

#include "bppsa/Schedule/Pipeline.h"

namespace bppsa::schedule {

/// Two stages on each device, of half of `cost` each: microbatches go down the devices and up
/// again, so that the device that begins also ends.
Pipeline makeVShape(int32_t devices, int32_t microbatches, StageCost cost, double hop);

/// By what devices choose among operations that are ready.
struct DispatchRule {
  /// A device that nothing else is ready for forms gradients of parameters unless what it waits
  /// for comes within this share of their time.
  double patience = 0;
  /// Whether forward operations go before backward ones while the device has memory for both.
  bool forwardFirst = false;
  /// Whether a device without memory for a forward operation that is ready makes room before it
  /// goes on with backward operations.
  bool makeRoom = false;
};

/// What may be kept at a time.
struct MemoryLimits {
  /// Activations on a device, in those that it keeps of one microbatch.
  double device;
  /// Microbatches of each stage between their forward and backward operations; all of them where
  /// there are no numbers.
  std::vector<int32_t> stages = {};
};

/// The orders that `rule` leads to. Nothing where no operation can go on within `limits`.
std::optional<DeviceOrders> orderByRule(const Pipeline &pipeline, DispatchRule rule,
                                        const MemoryLimits &limits);

} // namespace bppsa::schedule

#endif // BPPSA_SCHEDULE_PIPELINERULES_H

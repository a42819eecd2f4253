//===- PipelineRules.h - schedules chosen while they run --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINERULES_H
#define BPPSA_SIMULATOR_PIPELINERULES_H

#include "bppsa/Simulator/Pipeline.h"
#include <limits>

namespace bppsa::schedule {

/// By what a device chooses among operations that are ready. Gradients of parameters always come
/// last, so that cotangents are sent as soon as they can be.
struct DispatchRule {
  /// Whether forward operations go after backward ones that are ready, before them, or all of them
  /// before the first one, as in GPipe.
  enum class Forward { AfterBackward, BeforeBackward, First };
  Forward forward = Forward::AfterBackward;
  /// A device that nothing else is ready for forms gradients of parameters unless what it waits
  /// for comes within this share of their time.
  double patience = 0;
  /// Whether a device without memory for a forward operation that is ready frees some before it
  /// goes on with backward operations.
  bool freeMemory = false;
};

/// The orders that `rule` leads to where no device keeps more activations than `limit`, in those
/// that it keeps of one microbatch. Nothing where no operation can go on.
std::optional<DeviceOrders> orderByRule(const Pipeline &pipeline, DispatchRule rule,
                                        double limit = std::numeric_limits<double>::infinity());

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINERULES_H

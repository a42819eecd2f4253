//===- PipelineRules.h - dynamically chosen pipeline schedules --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINERULES_H
#define BPPSA_SIMULATOR_PIPELINERULES_H

#include "bppsa/Simulator/Pipeline.h"
#include <limits>

namespace bppsa::schedule {

/// How a device chooses among ready operations. Parameter gradients come last, so that cotangents
/// are sent early.
struct DispatchRule {
  /// When forward operations run, relative to ready backward ones. First runs all of them first, as
  /// in GPipe.
  enum class Forward { AfterBackward, BeforeBackward, First };
  Forward forward = Forward::AfterBackward;
  /// An idle device computes parameter gradients unless its next operation is ready within this
  /// share of their duration.
  double patience = 0;
  /// Free memory for a ready forward operation before continuing with backward ones.
  bool freeMemory = false;
};

/// No device keeps more than `limit` times its activations per microbatch. Returns nullopt if the
/// operations deadlock.
std::optional<DeviceOrders> orderByRule(const Pipeline &pipeline, DispatchRule rule,
                                        double limit = std::numeric_limits<double>::infinity());

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINERULES_H

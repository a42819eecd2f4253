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

/// How a device chooses among ready operations. Parameter gradients always have the lowest
/// priority, so that cotangents are sent as soon as possible.
struct DispatchRule {
  /// Run forward operations after ready backward operations, before them, or all before the first
  /// backward operation as in GPipe.
  enum class Forward { AfterBackward, BeforeBackward, First };
  Forward forward = Forward::AfterBackward;
  /// An otherwise idle device computes parameter gradients unless its next operation becomes ready
  /// within this share of their duration.
  double patience = 0;
  /// True if a device without memory for a ready forward operation frees memory before it continues
  /// with backward operations.
  bool freeMemory = false;
};

/// Returns the orders produced by `rule` if no device may keep more than `limit` activations, in
/// units of its activations per microbatch. Returns nullopt if the operations deadlock.
std::optional<DeviceOrders> orderByRule(const Pipeline &pipeline, DispatchRule rule,
                                        double limit = std::numeric_limits<double>::infinity());

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINERULES_H

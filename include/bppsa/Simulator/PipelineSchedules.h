//===- PipelineSchedules.h - pipeline schedules by name ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINESCHEDULES_H
#define BPPSA_SIMULATOR_PIPELINESCHEDULES_H

#include "bppsa/Simulator/Placement.h"
#include "bppsa/Simulator/Topology.h"

namespace bppsa::schedule {

struct PipelineProblem {
  Layers layers;
  int32_t devices, microbatches;
  double deferredMemory = 0.5;
  /// In units of a device's activations per microbatch.
  std::optional<double> memoryLimit = std::nullopt;
  /// Out-of-order schedules run all forward operations first.
  bool forwardFirst = false;
  /// Used if links differ; if empty, layers have their own hops.
  Links links = {};
  /// The device at each pipeline position if links differ; if empty, the order with the cheapest
  /// hops.
  std::vector<int32_t> deviceOrder = {};
};

/// See docs/Benchmarks/Scaling.md.
struct ScheduleKind {
  enum class Name {
    GPipe,
    OneForwardOneBackward,
    H1,
    H2,
    OneP,
    TwoP,
    V,
    VHalf,
    VMin,
    OutOfOrder,
    Modulo
  };
  Name name;
  /// Adjacent layers on a device, for `modulo`.
  int32_t group = 1;
};

/// Parses `gpipe`, `1f1b`, ..., `modulo:2`.
std::optional<ScheduleKind> parseScheduleKind(const std::string &text);
std::string getText(ScheduleKind kind);

std::string listScheduleKinds();

int64_t getMinLayers(ScheduleKind kind, int32_t devices);

/// Returns true if `kind` supports the placement: handcrafted and searched schedules need one stage
/// per device; zb-v, v-half and v-min a V shape; ooo adjacent stages; modulo:G groups of G; gpipe
/// supports all.
bool supportsPlacement(ScheduleKind kind, const Pipeline &pipeline);

struct ScheduledPipeline {
  ScheduleKind kind;
  Pipeline pipeline;
  std::vector<int32_t> deviceOrder;
  DeviceOrders orders;
  PipelineResult result;
};

struct OrderLimits {
  std::optional<double> memory = std::nullopt;
  bool forwardFirst = false;
};

/// `kind` must support `pipeline`. Returns nullopt if no order satisfies the limits.
std::optional<ScheduledPipeline> scheduleStages(Pipeline pipeline, ScheduleKind kind,
                                                OrderLimits limits);

/// Returns all supported schedules, sorted like rankSchedules().
std::vector<ScheduledPipeline> rankStages(const Pipeline &pipeline, OrderLimits limits);

/// Returns nullopt with fewer than getMinLayers() layers or if no order satisfies the limit.
std::optional<ScheduledPipeline> schedulePipeline(const PipelineProblem &problem,
                                                  ScheduleKind kind);

/// Sorts by span, then by memory.
std::vector<ScheduledPipeline> rankSchedules(const PipelineProblem &problem);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESCHEDULES_H

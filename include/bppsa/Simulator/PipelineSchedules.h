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

/// The layers and limits of a scheduling problem.
struct PipelineProblem {
  Layers layers;
  int32_t devices, microbatches;
  double deferredMemory = 0.5;
  /// Maximum activations of a device, in units of its activations per microbatch.
  std::optional<double> memoryLimit = std::nullopt;
  /// True if out-of-order schedules run all forward operations first.
  bool forwardFirst = false;
  /// Hop times between devices if links differ; if empty, each layer specifies its own.
  Links links = {};
  /// Assignment of devices to pipeline positions if links differ; if empty, the order with the
  /// cheapest hops is used.
  std::vector<int32_t> deviceOrder = {};
};

/// A schedule described in docs/Benchmarks/Scaling.md.
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
  /// Adjacent layers that `modulo` places on the same device.
  int32_t group = 1;
};

/// Parses `gpipe`, `1f1b`, ..., `modulo:2`; returns nullopt for other texts.
std::optional<ScheduleKind> parseScheduleKind(const std::string &text);
std::string getText(ScheduleKind kind);

/// Returns the texts accepted by parseScheduleKind(), for messages.
std::string listScheduleKinds();

int64_t getMinLayers(ScheduleKind kind, int32_t devices);

/// Returns whether `kind` supports the placement of `pipeline`. The handcrafted and searched
/// schedules need one stage per device; zb-v, v-half and v-min need a V shape; ooo needs adjacent
/// stages on a device; modulo:G needs groups of G; gpipe supports all placements.
bool supportsPlacement(ScheduleKind kind, const Pipeline &pipeline);

struct ScheduledPipeline {
  ScheduleKind kind;
  Pipeline pipeline;
  /// The device at each pipeline position; empty if all links are alike.
  std::vector<int32_t> deviceOrder;
  DeviceOrders orders;
  PipelineResult result;
};

/// Constraints on orders; see PipelineProblem.
struct OrderLimits {
  std::optional<double> memory = std::nullopt;
  bool forwardFirst = false;
};

/// Schedules `pipeline` with `kind`, which must support it. Returns nullopt if no order satisfies
/// the limits.
std::optional<ScheduledPipeline> scheduleStages(Pipeline pipeline, ScheduleKind kind,
                                                OrderLimits limits);

/// Schedules `pipeline` with all supported schedules and sorts the results like rankSchedules().
std::vector<ScheduledPipeline> rankStages(const Pipeline &pipeline, OrderLimits limits);

/// Places and schedules `problem` with `kind`. Returns nullopt if it has fewer than
/// getMinLayers() layers or no order satisfies the memory limit.
std::optional<ScheduledPipeline> schedulePipeline(const PipelineProblem &problem,
                                                  ScheduleKind kind);

/// Returns all possible schedules of `problem`, sorted by span and then by memory.
std::vector<ScheduledPipeline> rankSchedules(const PipelineProblem &problem);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESCHEDULES_H

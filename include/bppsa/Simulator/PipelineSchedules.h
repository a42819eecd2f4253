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

/// What is to be scheduled.
struct PipelineProblem {
  Layers layers;
  int32_t devices, microbatches;
  double deferredMemory = 0.5;
  /// The most activations on a device, in those that it keeps of one microbatch.
  std::optional<double> memoryLimit = std::nullopt;
  /// Whether out-of-order schedules run all forward operations first.
  bool forwardFirst = false;
  /// The times of hops where links differ; empty: each layer says what its own takes.
  Links links = {};
  /// Which device stands where then; empty for the order with the least hops.
  std::vector<int32_t> deviceOrder = {};
};

/// A schedule of docs/Scaling.md.
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
  /// Neighbours that `modulo` gives to the same device.
  int32_t group = 1;
};

/// `gpipe`, `1f1b`, ..., `modulo:2`; nothing for other texts.
std::optional<ScheduleKind> parseScheduleKind(const std::string &text);
std::string getText(ScheduleKind kind);

/// The texts that parseScheduleKind() takes, for messages.
std::string listScheduleKinds();

/// The fewest layers that `kind` needs on `devices` devices.
int64_t getFewestLayers(ScheduleKind kind, int32_t devices);

/// Whether `kind` orders the operations of stages that are placed as those of `pipeline` are: the
/// handcrafted schedules and what is searched for among them need one stage on each device, zb-v,
/// v-half and v-min a V shape, ooo neighbours, modulo:G groups of G; gpipe takes all.
bool goesWith(ScheduleKind kind, const Pipeline &pipeline);

struct ScheduledPipeline {
  ScheduleKind kind;
  Pipeline pipeline;
  /// The devices that stand in the places 0, 1, ... of the pipeline; empty where links are alike.
  std::vector<int32_t> deviceOrder;
  DeviceOrders orders;
  PipelineResult result;
};

/// What orders are to keep to; as in PipelineProblem.
struct OrderLimits {
  std::optional<double> memory = std::nullopt;
  bool forwardFirst = false;
};

/// The schedule of `kind`, which goes with `pipeline`. Nothing where no order keeps to the limits.
std::optional<ScheduledPipeline> scheduleStages(Pipeline pipeline, ScheduleKind kind,
                                                OrderLimits limits);

/// Those of all kinds that go with `pipeline`, in the order of rankSchedules().
std::vector<ScheduledPipeline> rankStages(const Pipeline &pipeline, OrderLimits limits);

/// The schedule of `kind`. Nothing where there are fewer than getFewestLayers() layers, or where no
/// order keeps to the memory limit.
std::optional<ScheduledPipeline> schedulePipeline(const PipelineProblem &problem,
                                                  ScheduleKind kind);

/// Every schedule that there is for `problem`, the one with the shortest span first; of equal ones
/// that with the least memory.
std::vector<ScheduledPipeline> rankSchedules(const PipelineProblem &problem);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESCHEDULES_H

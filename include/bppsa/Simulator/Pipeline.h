//===- Pipeline.h - schedules of pipeline-parallel training -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A step of a pipeline: every microbatch goes forward through all stages (F), its cotangents come
// back (B), and every stage forms the gradients of its parameters (W). A schedule is an ordered
// list of such operations for each device (docs/Scaling.md).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINE_H
#define BPPSA_SIMULATOR_PIPELINE_H

#include "bppsa/Simulator/Simulation.h"
#include <string>

namespace bppsa::schedule {

/// What a stage takes of one microbatch.
struct StageCost {
  double forward, backward, weight;
  /// From the end of its forward operation to the start of the next stage's on another device, and
  /// back from that one's backward operation to its own.
  double hop = 0;
  /// Activations that it keeps, as a share of those that its device keeps of a microbatch.
  double activations = 1;
};

/// Stages and where they are.
struct Pipeline {
  int32_t devices, microbatches;
  std::vector<StageCost> stages;
  /// The device of each stage.
  std::vector<int32_t> placement;
  /// The device of each layer, and what a device keeps of a microbatch, in the unit of the layers.
  std::vector<int32_t> layerDevices = {};
  std::vector<double> deviceActivations = {};
  /// What W needs of the activations that F keeps; the rest is free once B has run.
  double deferredMemory = 0.5;

  int32_t getNumStages() const { return static_cast<int32_t>(stages.size()); }
};

/// BW is B and W in one: what precedes the stage waits for both.
enum class OpKind { F, B, W, BW };

struct PipelineOp {
  OpKind kind;
  int32_t stage, microbatch;
};

/// The operations of each device, in order.
using DeviceOrders = std::vector<std::vector<PipelineOp>>;

double getDuration(const Pipeline &pipeline, PipelineOp op);

/// Tasks and true dependences of some operations; a resource is a device.
struct PipelineGraph {
  TaskGraph graph;
  /// Of each task.
  std::vector<PipelineOp> ops;
};

/// The graph of the operations of `orders`, whose tasks are numbered device after device.
PipelineGraph buildGraph(const Pipeline &pipeline, const DeviceOrders &orders);

/// All operations of a step, whatever their order: with BW where `isFused`, otherwise with B and W.
DeviceOrders listOperations(const Pipeline &pipeline, bool isFused);

/// The order in which a simulation started the operations of each device. Tasks of `graph` that
/// follow those of its operations have no place in it.
DeviceOrders getOrders(const Pipeline &pipeline, const PipelineGraph &graph,
                       const Timeline &timeline);

struct PipelineResult {
  PipelineGraph graph;
  Timeline timeline;
  /// The longest time from the start of a device's first operation to the end of its last one.
  /// Steps that follow each other without a barrier take as long.
  double span = 0;
  /// The most activations at a time of each device, in those that it keeps of one microbatch.
  std::vector<double> peakActivations;

  double getPeakActivations() const;
  /// The share of `time` in which the device with the most work has none of it.
  double getBubble(double time) const;
};

/// Runs `orders`; nothing where they are no order of the dependences.
std::optional<PipelineResult> evaluate(const Pipeline &pipeline, const DeviceOrders &orders);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINE_H

//===- Pipeline.h - schedules of pipeline-parallel training -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A step of a pipeline: every microbatch passes forward through all stages (F), its cotangents
// return (B), and every stage computes its parameter gradients (W). A schedule is an ordered list
// of these operations for each device (docs/Benchmarks/Scaling.md).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINE_H
#define BPPSA_SIMULATOR_PIPELINE_H

#include "bppsa/Simulator/Simulation.h"
#include <string>

namespace bppsa::schedule {

/// Times and memory of a stage for one microbatch.
struct StageCost {
  double forward, backward, weight;
  /// Time between an operation of this stage and the dependent operation of the next stage on
  /// another device, in either direction.
  double hop = 0;
  /// Activations that the stage keeps, as a share of its device's activations per microbatch.
  double activations = 1;
};

/// The stages of a pipeline and their devices.
struct Pipeline {
  int32_t devices, microbatches;
  std::vector<StageCost> stages;
  std::vector<int32_t> placement;
  /// The device of each layer, and the activations that each device keeps per microbatch, in the
  /// unit of the layers.
  std::vector<int32_t> layerDevices = {};
  std::vector<double> deviceActivations = {};
  /// Share of the activations that W needs; the rest is freed after B.
  double deferredMemory = 0.5;

  int32_t getNumStages() const { return static_cast<int32_t>(stages.size()); }
};

/// BW is B and W fused: the preceding stage waits for both.
enum class OpKind { F, B, W, BW };

struct PipelineOp {
  OpKind kind;
  int32_t stage, microbatch;
};

/// The operations of each device, in order.
using DeviceOrders = std::vector<std::vector<PipelineOp>>;

double getDuration(const Pipeline &pipeline, PipelineOp op);

/// Tasks and true dependences of operations; resources are devices.
struct PipelineGraph {
  TaskGraph graph;
  /// The operation of each task.
  std::vector<PipelineOp> ops;
};

/// Builds the graph of the operations of `orders`. Tasks are numbered device by device.
PipelineGraph buildGraph(const Pipeline &pipeline, const DeviceOrders &orders);

/// Lists all operations of a step in an arbitrary order: BW if `isFused`, otherwise B and W.
DeviceOrders listOperations(const Pipeline &pipeline, bool isFused);

/// Returns the order in which a simulation started the operations of each device. Tasks of `graph`
/// beyond its operations are ignored.
DeviceOrders getOrders(const Pipeline &pipeline, const PipelineGraph &graph,
                       const Timeline &timeline);

struct PipelineResult {
  PipelineGraph graph;
  Timeline timeline;
  /// Maximum over the devices of the time from the start of the first operation to the end of the
  /// last. Consecutive steps without a barrier have this period.
  double span = 0;
  /// Peak activations of each device, in units of its activations per microbatch.
  std::vector<double> peakActivations;

  double getPeakActivations() const;
  /// Returns the share of `time` during which the busiest device is idle.
  double getBubble(double time) const;
};

/// Simulates `orders`. Returns nullopt if they contradict the dependences.
std::optional<PipelineResult> evaluate(const Pipeline &pipeline, const DeviceOrders &orders);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINE_H

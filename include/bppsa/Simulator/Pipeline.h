//===- Pipeline.h - schedules of pipeline-parallel training -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Every microbatch passes forward through all stages (F), its cotangents return (B), and stages
// compute parameter gradients (W). A schedule lists these operations in order for each device
// (docs/Benchmarks/Scaling.md).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINE_H
#define BPPSA_SIMULATOR_PIPELINE_H

#include "bppsa/Simulator/Simulation.h"
#include <string>

namespace bppsa::schedule {

struct StageCost {
  double forward, backward, weight;
  /// The time between dependent operations of this and the next stage on another device, in either
  /// direction.
  double hop = 0;
  /// As a share of the device's activations per microbatch.
  double activations = 1;
};

struct Pipeline {
  int32_t devices, microbatches;
  std::vector<StageCost> stages;
  std::vector<int32_t> placement;
  /// The devices of layers, and the activations per device and microbatch in the unit of the
  /// layers.
  std::vector<int32_t> layerDevices = {};
  std::vector<double> deviceActivations = {};
  /// The share of activations that W needs; the rest is freed after B.
  double deferredMemory = 0.5;

  int32_t getNumStages() const { return static_cast<int32_t>(stages.size()); }
};

/// BW fuses B and W: the preceding stage waits for both.
enum class OpKind { F, B, W, BW };

struct PipelineOp {
  OpKind kind;
  int32_t stage, microbatch;
};

using DeviceOrders = std::vector<std::vector<PipelineOp>>;

double getDuration(const Pipeline &pipeline, PipelineOp op);

/// Tasks and true dependences; resources are devices.
struct PipelineGraph {
  TaskGraph graph;
  std::vector<PipelineOp> ops;
};

/// Tasks are numbered device by device.
PipelineGraph buildGraph(const Pipeline &pipeline, const DeviceOrders &orders);

/// Returns all operations in arbitrary order: BW if `isFused`, otherwise B and W.
DeviceOrders listOperations(const Pipeline &pipeline, bool isFused);

/// Returns the operations of each device in simulated order, ignoring other tasks of `graph`.
DeviceOrders getOrders(const Pipeline &pipeline, const PipelineGraph &graph,
                       const Timeline &timeline);

struct PipelineResult {
  PipelineGraph graph;
  Timeline timeline;
  /// The longest time of a device from its first to its last operation: the period of steps without
  /// a barrier.
  double span = 0;
  /// For each device, in units of its activations per microbatch.
  std::vector<double> peakActivations;

  double getPeakActivations() const;
  /// Returns the idle share of the busiest device.
  double getBubble(double time) const;
};

/// Returns nullopt if `orders` contradict the dependences.
std::optional<PipelineResult> evaluate(const Pipeline &pipeline, const DeviceOrders &orders);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINE_H

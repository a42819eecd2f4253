//===- Pipeline.cpp - schedules of pipeline-parallel training -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Pipeline.h"
#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>

using namespace bppsa::schedule;

double bppsa::schedule::getDuration(const Pipeline &pipeline, PipelineOp op) {
  const StageCost &cost = pipeline.stages[op.stage];
  switch (op.kind) {
  case OpKind::F:
    return cost.forward;
  case OpKind::B:
    return cost.backward;
  case OpKind::W:
    return cost.weight;
  case OpKind::BW:
    break;
  }
  return cost.backward + cost.weight;
}

namespace {
class GraphBuilder {
public:
  explicit GraphBuilder(const Pipeline &pipeline)
      : pipeline(pipeline), tasks(3 * size_t(pipeline.getNumStages()) * pipeline.microbatches, -1) {
  }

  PipelineGraph build(const DeviceOrders &orders) {
    for (size_t device = 0; device < orders.size(); ++device)
      for (PipelineOp op : orders[device]) {
        find(op.kind, op.stage, op.microbatch) =
            result.graph.addTask(static_cast<int32_t>(device), getDuration(pipeline, op));
        result.ops.push_back(op);
      }
    for (TaskId task = 0; task < result.graph.getNumTasks(); ++task)
      addDependences(task, result.ops[task]);
    return std::move(result);
  }

private:
  /// A schedule has either B or BW.
  TaskId &find(OpKind kind, int32_t stage, int32_t microbatch) {
    size_t row = kind == OpKind::F ? 0 : kind == OpKind::W ? 1 : 2;
    return tasks[(row * pipeline.getNumStages() + stage) * pipeline.microbatches + microbatch];
  }

  void addDependences(TaskId task, PipelineOp op) {
    auto waitFor = [&](OpKind kind, int32_t stage) {
      bool isLocal = pipeline.placement[stage] == pipeline.placement[op.stage];
      double lag = isLocal ? 0 : pipeline.stages[std::min(stage, op.stage)].hop;
      result.graph.addDependence(find(kind, stage, op.microbatch), task, lag);
    };
    if (op.kind == OpKind::F) {
      if (op.stage > 0)
        waitFor(OpKind::F, op.stage - 1);
    } else if (op.kind == OpKind::W) {
      waitFor(OpKind::B, op.stage);
    } else {
      waitFor(OpKind::F, op.stage);
      if (op.stage + 1 < pipeline.getNumStages())
        waitFor(OpKind::B, op.stage + 1);
    }
  }

  const Pipeline &pipeline;
  std::vector<TaskId> tasks;
  PipelineGraph result;
};
} // namespace

PipelineGraph bppsa::schedule::buildGraph(const Pipeline &pipeline, const DeviceOrders &orders) {
  return GraphBuilder(pipeline).build(orders);
}

DeviceOrders bppsa::schedule::listOperations(const Pipeline &pipeline, bool isFused) {
  DeviceOrders all(pipeline.devices);
  for (int32_t stage = 0; stage < pipeline.getNumStages(); ++stage)
    for (int32_t microbatch = 0; microbatch < pipeline.microbatches; ++microbatch) {
      std::vector<PipelineOp> &ops = all[pipeline.placement[stage]];
      ops.push_back({OpKind::F, stage, microbatch});
      ops.push_back({isFused ? OpKind::BW : OpKind::B, stage, microbatch});
      if (!isFused)
        ops.push_back({OpKind::W, stage, microbatch});
    }
  return all;
}

DeviceOrders bppsa::schedule::getOrders(const Pipeline &pipeline, const PipelineGraph &graph,
                                        const Timeline &timeline) {
  DeviceOrders orders(pipeline.devices);
  for (TaskId task : timeline.order)
    if (size_t(task) < graph.ops.size())
      orders[graph.graph.getResource(task)].push_back(graph.ops[task]);
  return orders;
}

double PipelineResult::getPeakActivations() const {
  return *std::max_element(peakActivations.begin(), peakActivations.end());
}

double PipelineResult::getBubble(double time) const {
  std::vector<double> work = getWork(graph.graph);
  // Rounding may yield a negative value.
  return std::max(0.0, 1 - *std::max_element(work.begin(), work.end()) / time);
}

static double getPeak(const Pipeline &pipeline, const std::vector<PipelineOp> &ops) {
  double held = 0, peak = 0;
  for (PipelineOp op : ops) {
    double all = pipeline.stages[op.stage].activations, later = all * pipeline.deferredMemory;
    switch (op.kind) {
    case OpKind::F:
      held += all;
      break;
    case OpKind::B:
      held -= all - later;
      break;
    case OpKind::W:
      held -= later;
      break;
    case OpKind::BW:
      held -= all;
      break;
    }
    peak = std::max(peak, held);
  }
  return peak;
}

std::optional<PipelineResult> bppsa::schedule::evaluate(const Pipeline &pipeline,
                                                        const DeviceOrders &orders) {
  PipelineResult result;
  result.graph = buildGraph(pipeline, orders);
  std::vector<std::vector<TaskId>> lists(orders.size());
  for (TaskId task = 0; task < result.graph.graph.getNumTasks(); ++task)
    lists[result.graph.graph.getResource(task)].push_back(task);
  ListDispatch dispatch(lists);
  std::optional<Timeline> timeline = simulate(result.graph.graph, dispatch);
  if (!timeline)
    return std::nullopt;
  result.timeline = std::move(*timeline);
  for (size_t device = 0; device < orders.size(); ++device) {
    if (!lists[device].empty())
      result.span = std::max(result.span, result.timeline.end[lists[device].back()] -
                                              result.timeline.start[lists[device].front()]);
    result.peakActivations.push_back(getPeak(pipeline, orders[device]));
  }
  return result;
}

//===- PipelineRules.cpp - dynamically chosen pipeline schedules ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineRules.h"
#include <algorithm>
#include <limits>
#include <set>

using namespace bppsa::schedule;

static constexpr double kNever = std::numeric_limits<double>::infinity();
/// Tolerance for rounding of activation sums.
static constexpr double kTolerance = 1e-9;

namespace {
class RuleDispatch : public Dispatcher {
public:
  RuleDispatch(const Pipeline &pipeline, const PipelineGraph &graph, DispatchRule rule,
               double limit)
      : pipeline(pipeline), graph(graph), rule(rule), limit(limit), devices(pipeline.devices),
        remaining(pipeline.stages.size()) {
    for (int32_t device : pipeline.placement)
      devices[device].numForward += pipeline.microbatches;
    std::vector<double> ofDevice(pipeline.devices, 0);
    for (int32_t stage = pipeline.getNumStages(); stage-- > 0;)
      remaining[stage] = ofDevice[pipeline.placement[stage]] += pipeline.stages[stage].activations;
  }

  void announce(TaskId task, double ready) override {
    PipelineOp op = graph.ops[task];
    Device &device = devices[graph.graph.getResource(task)];
    // Prefers the oldest microbatch, then the stage nearest to the loss.
    device.announced[size_t(op.kind)].insert({op.microbatch, -op.stage, task, ready});
  }

  std::optional<TaskId> pick(int32_t number, double now) override {
    Device &device = devices[number];
    auto isReady = [&](const Entry &entry) { return entry.ready <= now; };
    const Entry *forward = find(device.get(OpKind::F), isReady);
    const Entry *backward = find(device.get(OpKind::B), isReady);
    const Entry *weight = find(device.get(OpKind::W), isReady);
    bool fits = forward && canHold(device, *forward);
    if (fits && (rule.forward != DispatchRule::Forward::AfterBackward || !backward))
      return take(device, *forward);
    if (rule.forward == DispatchRule::Forward::First && device.numForward > 0)
      return std::nullopt;
    if (rule.freeMemory && forward && !fits && weight)
      return take(device, *weight);
    if (backward)
      return take(device, *backward);
    if (weight && getNextArrival(device, now) - now >= rule.patience * getTime(*weight))
      return take(device, *weight);
    return std::nullopt;
  }

private:
  struct Entry {
    int32_t microbatch, order;
    TaskId task;
    double ready;

    bool operator<(const Entry &other) const {
      return microbatch != other.microbatch ? microbatch < other.microbatch : order < other.order;
    }
  };
  using Entries = std::set<Entry>;
  struct Device {
    Entries announced[3];
    double held = 0;
    int64_t numForward = 0;

    Entries &get(OpKind kind) { return announced[size_t(kind)]; }
  };

  double getTime(const Entry &entry) const { return graph.graph.getDuration(entry.task); }
  double getActivations(const Entry &entry) const {
    return pipeline.stages[graph.ops[entry.task].stage].activations;
  }

  template <typename Predicate>
  static const Entry *find(const Entries &entries, Predicate predicate) {
    auto entry = std::find_if(entries.begin(), entries.end(), predicate);
    return entry == entries.end() ? nullptr : &*entry;
  }

  /// Reserves memory for all remaining stages of a microbatch, so that microbatches in flight
  /// cannot deadlock.
  bool canHold(const Device &device, const Entry &forward) const {
    double needed = remaining[graph.ops[forward.task].stage];
    return device.held + needed <= limit + kTolerance;
  }

  /// Returns when the next operation that fits into memory is ready.
  double getNextArrival(Device &device, double now) {
    double next = kNever;
    for (const Entry &entry : device.get(OpKind::B))
      next = std::min(next, entry.ready);
    for (const Entry &entry : device.get(OpKind::F))
      if (entry.ready > now && canHold(device, entry))
        next = std::min(next, entry.ready);
    return next;
  }

  TaskId take(Device &device, Entry entry) {
    PipelineOp op = graph.ops[entry.task];
    double all = getActivations(entry), later = all * pipeline.deferredMemory;
    device.held += op.kind == OpKind::F ? all : op.kind == OpKind::B ? later - all : -later;
    device.numForward -= op.kind == OpKind::F;
    device.get(op.kind).erase(entry);
    return entry.task;
  }

  const Pipeline &pipeline;
  const PipelineGraph &graph;
  DispatchRule rule;
  double limit;
  std::vector<Device> devices;
  /// For each stage, the activations of it and of later stages on its device.
  std::vector<double> remaining;
};
} // namespace

std::optional<DeviceOrders> bppsa::schedule::orderByRule(const Pipeline &pipeline,
                                                         DispatchRule rule, double limit) {
  PipelineGraph graph = buildGraph(pipeline, listOperations(pipeline, /*isFused=*/false));
  RuleDispatch dispatch(pipeline, graph, rule, limit);
  std::optional<Timeline> timeline = simulate(graph.graph, dispatch);
  if (!timeline)
    return std::nullopt;
  return getOrders(pipeline, graph, *timeline);
}

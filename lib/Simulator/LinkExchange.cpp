//===- LinkExchange.cpp - collective exchange of gradients ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/LinkExchange.h"
#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace bppsa::schedule;

static constexpr int64_t kElementBytes = 4;
/// Steps until times repeat, and steps to average over.
static constexpr int32_t kFirstSteps = 8, kMeasuredSteps = 8;

namespace {
using Kind = LinkResult::Task::Kind;

class LinkSimulation {
public:
  LinkSimulation(const TrainingStep &step, const LinkNetwork &network, const LinkPolicy &policy)
      : step(step), network(network), policy(policy), numLayers(static_cast<int32_t>(step.size())),
        values(step.size()) {
    for (int32_t i = 0; i < kFirstSteps + kMeasuredSteps; ++i)
      addStep();
  }

  LinkResult run() {
    QueueDispatch dispatch(graph);
    for (TaskId task = 0; task < graph.getNumTasks(); ++task)
      if (policy.byPriority && labels[task].kind == Kind::Exchange)
        dispatch.setPriority(task, labels[task].layer);
    Timeline timeline = simulate(graph, dispatch).value();
    LinkResult result = {};
    double begin = timeline.start[firstTasks[kFirstSteps]];
    result.step = (timeline.start[firstTasks.back()] - begin) / (kMeasuredSteps - 1);
    for (const ExchangedLayer &layer : step)
      result.compute += layer.forward + layer.backward + layer.weight;
    for (TaskId task = firstTasks[kFirstSteps]; task < firstTasks[kFirstSteps + 1]; ++task)
      result.tasks.push_back({labels[task].kind, labels[task].layer, timeline.start[task] - begin,
                              timeline.end[task] - begin});
    return result;
  }

private:
  struct Label {
    Kind kind;
    int32_t layer;
  };

  TaskId addTask(int32_t resource, double time, Kind kind, int32_t layer) {
    labels.push_back({kind, layer});
    return graph.addTask(resource, time);
  }

  /// Computations run in the order of calls.
  TaskId compute(double time, Kind kind, int32_t layer) {
    TaskId task = addTask(0, time, kind, layer);
    if (last >= 0)
      graph.addDependence(last, task);
    return last = task;
  }

  void addStep() {
    for (int32_t layer = 0; layer < numLayers; ++layer) {
      TaskId forward = compute(step[layer].forward, Kind::Forward, layer);
      if (layer == 0) {
        firstTasks.push_back(forward);
        for (int32_t other = policy.crossing; other < numLayers; ++other)
          wait(other, forward);
      }
      if (layer < policy.crossing)
        wait(layer, forward);
    }
    for (int32_t layer = numLayers; layer-- > 0;) {
      compute(step[layer].backward, Kind::Backward, layer);
      if (layer >= policy.reversed)
        exchange(layer, compute(step[layer].weight, Kind::Weight, layer));
    }
    for (int32_t layer = 0; layer < policy.reversed; ++layer)
      exchange(layer, compute(step[layer].weight, Kind::Weight, layer));
    if (policy.gathersLater)
      gather();
  }

  void wait(int32_t layer, TaskId task) {
    for (TaskId value : values[layer])
      graph.addDependence(value, task, policy.usesServers ? 2 * network.latency : 0);
    values[layer].clear();
  }

  /// Returns the seconds on the link. An all-reduce has two `phases`, a reduce-scatter or
  /// all-gather one.
  double getTime(int64_t bytes, int32_t phases) const {
    double others = network.workers - 1.0;
    double rounds = policy.usesServers ? 0 : std::ceil(std::log2(network.workers));
    return phases *
           (bytes * others / network.workers / network.bytesPerSecond + network.latency * rounds);
  }

  void addParts(int32_t layer, int32_t phases, TaskId before, bool isChain) {
    int64_t bytes = kElementBytes * step[layer].getNumElements();
    for (int64_t first = 0; first < bytes; first += policy.partBytes) {
      double time = getTime(std::min(policy.partBytes, bytes - first), phases);
      TaskId part = addTask(1, time, Kind::Exchange, layer);
      if (before >= 0)
        graph.addDependence(before, part);
      before = isChain ? part : before;
      values[layer].push_back(part);
    }
  }

  void exchange(int32_t layer, TaskId gradient) {
    addParts(layer, policy.gathersLater ? 1 : 2, gradient, /*isChain=*/false);
  }

  /// The link runs all-gathers in forward order after all reduce-scatters.
  void gather() {
    TaskId before = last;
    for (int32_t layer = 0; layer < numLayers; ++layer) {
      std::vector<TaskId> reduced = std::move(values[layer]);
      values[layer].clear();
      addParts(layer, 1, before, /*isChain=*/true);
      if (!values[layer].empty()) {
        for (TaskId task : reduced)
          graph.addDependence(task, values[layer].front());
        before = values[layer].back();
      }
    }
  }

  const TrainingStep &step;
  const LinkNetwork &network;
  const LinkPolicy &policy;
  int32_t numLayers;
  TaskGraph graph;
  std::vector<Label> labels;
  /// Tasks that produce the updated parameters of each layer.
  std::vector<std::vector<TaskId>> values;
  TaskId last = -1;
  std::vector<TaskId> firstTasks;
};
} // namespace

LinkResult bppsa::schedule::evaluate(const TrainingStep &step, const LinkNetwork &network,
                                     const LinkPolicy &policy) {
  return LinkSimulation(step, network, policy).run();
}

LinkPolicy bppsa::schedule::makeP3(int32_t layers, int64_t slice) {
  LinkPolicy policy;
  policy.partBytes = kElementBytes * slice;
  policy.crossing = layers;
  policy.byPriority = true;
  policy.usesServers = true;
  return policy;
}

LinkPolicy bppsa::schedule::makeDear(int32_t layers) {
  LinkPolicy policy;
  policy.crossing = layers;
  policy.gathersLater = true;
  return policy;
}

LinkPolicy bppsa::schedule::makeReverseFirst(int32_t reversed) {
  LinkPolicy policy;
  policy.crossing = policy.reversed = reversed;
  policy.byPriority = true;
  return policy;
}

int32_t bppsa::schedule::searchReverseFirst(const TrainingStep &step, const LinkNetwork &network) {
  int32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int32_t reversed = 0; reversed <= static_cast<int32_t>(step.size()); ++reversed) {
    double time = evaluate(step, network, makeReverseFirst(reversed)).step;
    if (time < least) {
      least = time;
      best = reversed;
    }
  }
  return best;
}

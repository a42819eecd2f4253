//===- OwnerExchange.cpp - gradient exchange of programs ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/OwnerExchange.h"
#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>

using namespace bppsa::schedule;

static constexpr int64_t kElementBytes = 4;
/// The size of a loss message (`Ranks::gather`).
static constexpr int64_t kLossMessageBytes = 512;
/// Delays the loss message, so that a gradient sent immediately precedes it.
static constexpr double kLossMessageDelay = 1e-6;
/// Iterations to find the time lost to messages.
static constexpr int32_t kRounds = 8;
static constexpr int32_t kFirstSteps = 8, kMeasuredSteps = 8;

namespace {
using Kind = OwnerPolicy::Kind;
using Task = LinkResult::Task;

class OwnerSimulation {
public:
  /// `lost` holds the additional time of each task.
  OwnerSimulation(const TrainingStep &step, const LinkNetwork &network, const OwnerPolicy &policy,
                  const std::vector<double> &lost)
      : step(step), network(network), policy(policy), lost(lost), ranks(network.workers),
        parts(step.size()), last(ranks, -1), numResources(2 * ranks) {
    cut();
    for (int32_t i = 0; i < kFirstSteps + kMeasuredSteps; ++i)
      addStep();
  }

  Timeline simulate() const;
  LinkResult describe(const Timeline &timeline) const;
  /// Returns the time that messages take from each computation.
  std::vector<double> getLost(const Timeline &timeline) const;

private:
  struct Part {
    int32_t owner;
    int64_t bytes;
    /// For each rank, the task after which it has the sums.
    std::vector<TaskId> sums;
  };
  struct Label {
    TaskId task;
    Task::Kind kind;
    int32_t layer;
  };

  int32_t getLink(int32_t rank) const { return ranks + rank; }
  TaskId addEvent() { return graph.addTask(numResources++, 0); }

  void cut();
  TaskId compute(int32_t rank, double time, Task::Kind kind, int32_t layer);
  void addStep();
  void waitForSums(int32_t rank, int32_t layer, TaskId task);
  TaskId send(int32_t from, int64_t bytes, double priority, int32_t layer);
  void exchange(int32_t layer, Part &part, const std::vector<TaskId> &gradients);
  void sendSums(int32_t layer, Part &part, TaskId summed, TaskId before);
  void releaseHeld();
  void exchangeLosses();
  double getPriority(int32_t layer, bool isSum) const {
    bool isByUse = policy.kind == Kind::P3 || (policy.kind == Kind::Dear && isSum);
    return isByUse ? layer : 0;
  }

  const TrainingStep &step;
  const LinkNetwork &network;
  const OwnerPolicy &policy;
  const std::vector<double> &lost;
  const int32_t ranks;
  std::vector<std::vector<Part>> parts;
  TaskGraph graph;
  /// For each rank, its last computation, and the loss messages that its next step waits for.
  std::vector<TaskId> last;
  std::vector<std::vector<TaskId>> numbers;
  int32_t numResources;
  std::vector<Label> labels;
  std::vector<TaskId> firstTasks;
  std::vector<std::pair<TaskId, double>> priorities;
  /// With DeAR, parts whose sums wait for all sums of their owner.
  struct Held {
    int32_t layer;
    Part *part;
    TaskId summed;
  };
  std::vector<Held> held;
};
} // namespace

void OwnerSimulation::cut() {
  int64_t number = 0;
  for (size_t layer = 0; layer < step.size(); ++layer)
    for (int64_t elements : step[layer].tensors) {
      int64_t most = policy.hasBarrier() ? std::max<int64_t>(elements, 1) : policy.slice;
      for (int64_t first = 0; first < elements; first += most)
        parts[layer].push_back({static_cast<int32_t>(number++ % ranks),
                                kElementBytes * std::min(most, elements - first),
                                {}});
    }
}

/// Computations of a rank run in the order of calls.
TaskId OwnerSimulation::compute(int32_t rank, double time, Task::Kind kind, int32_t layer) {
  TaskId task = graph.getNumTasks();
  graph.addTask(rank, time + (lost.empty() ? 0 : lost[task]));
  if (last[rank] >= 0)
    graph.addDependence(last[rank], task);
  if (rank == 0)
    labels.push_back({task, kind, layer});
  return last[rank] = task;
}

void OwnerSimulation::waitForSums(int32_t rank, int32_t layer, TaskId task) {
  for (const Part &part : parts[layer])
    if (!part.sums.empty())
      graph.addDependence(part.sums[rank], task, rank == part.owner ? 0 : network.latency);
}

void OwnerSimulation::addStep() {
  auto numLayers = static_cast<int32_t>(step.size());
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (int32_t layer = 0; layer < numLayers; ++layer) {
      TaskId forward = compute(rank, step[layer].forward, Task::Kind::Forward, layer);
      if (layer == 0 && rank == 0)
        firstTasks.push_back(forward);
      if (layer == 0 && !numbers.empty())
        for (TaskId other : numbers[rank])
          graph.addDependence(other, forward, network.latency);
      for (int32_t read = layer; read < numLayers; ++read)
        if (read == layer || (layer == 0 && policy.hasBarrier()))
          waitForSums(rank, read, forward);
    }
  std::vector<std::vector<TaskId>> gradients(numLayers);
  for (int32_t rank = 0; rank < ranks; ++rank)
    for (int32_t layer = numLayers; layer-- > 0;) {
      compute(rank, step[layer].backward, Task::Kind::Backward, layer);
      gradients[layer].push_back(compute(rank, step[layer].weight, Task::Kind::Weight, layer));
    }
  for (int32_t layer = numLayers; layer-- > 0;)
    for (Part &part : parts[layer])
      exchange(layer, part, policy.kind == Kind::Barrier ? last : gradients[layer]);
  releaseHeld();
  exchangeLosses();
}

TaskId OwnerSimulation::send(int32_t from, int64_t bytes, double priority, int32_t layer) {
  TaskId message = graph.addTask(getLink(from), bytes / network.bytesPerSecond);
  priorities.emplace_back(message, priority);
  if (from == 0 && layer >= 0)
    labels.push_back({message, Task::Kind::Exchange, layer});
  return message;
}

/// `gradients[r]` computes the gradients on rank r.
void OwnerSimulation::exchange(int32_t layer, Part &part, const std::vector<TaskId> &gradients) {
  TaskId summed = addEvent();
  graph.addDependence(gradients[part.owner], summed);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    if (rank == part.owner)
      continue;
    TaskId push = send(rank, part.bytes, getPriority(layer, /*isSum=*/false), layer);
    graph.addDependence(gradients[rank], push);
    graph.addDependence(push, summed, network.latency);
  }
  if (policy.kind == Kind::Dear)
    held.push_back({layer, &part, summed});
  else
    sendSums(layer, part, summed, summed);
}

/// Sends the sums after `before`. On the owner, they are available after `summed`.
void OwnerSimulation::sendSums(int32_t layer, Part &part, TaskId summed, TaskId before) {
  part.sums.assign(ranks, summed);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    if (rank == part.owner)
      continue;
    part.sums[rank] = send(part.owner, part.bytes, getPriority(layer, /*isSum=*/true), layer);
    graph.addDependence(before, part.sums[rank]);
  }
}

void OwnerSimulation::releaseHeld() {
  std::vector<TaskId> whole(ranks, -1);
  for (const Held &entry : held) {
    TaskId &event = whole[entry.part->owner];
    event = event < 0 ? addEvent() : event;
    graph.addDependence(entry.summed, event);
  }
  for (const Held &entry : held)
    sendSums(entry.layer, *entry.part, entry.summed, whole[entry.part->owner]);
  held.clear();
}

void OwnerSimulation::exchangeLosses() {
  constexpr double first = -1;
  numbers.assign(ranks, {});
  for (int32_t from = 0; from < ranks; ++from)
    for (int32_t to = 0; to < ranks; ++to) {
      if (to == from)
        continue;
      TaskId message = send(from, kLossMessageBytes, first, /*layer=*/-1);
      graph.addDependence(last[from], message, kLossMessageDelay);
      numbers[to].push_back(message);
    }
}

Timeline OwnerSimulation::simulate() const {
  QueueDispatch dispatch(graph);
  for (auto [task, priority] : priorities)
    dispatch.setPriority(task, priority);
  return bppsa::schedule::simulate(graph, dispatch).value();
}

std::vector<double> OwnerSimulation::getLost(const Timeline &timeline) const {
  std::vector<std::vector<TaskId>> ofResource(2 * ranks);
  for (TaskId task : timeline.order)
    if (graph.getResource(task) < 2 * ranks)
      ofResource[graph.getResource(task)].push_back(task);
  std::vector<double> result(graph.getNumTasks(), 0);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const std::vector<TaskId> &messages = ofResource[getLink(rank)];
    size_t first = 0;
    for (TaskId task : ofResource[rank]) {
      while (first < messages.size() && timeline.end[messages[first]] <= timeline.start[task])
        ++first;
      for (size_t i = first;
           i < messages.size() && timeline.start[messages[i]] < timeline.end[task]; ++i)
        result[task] +=
            policy.messageShare * (std::min(timeline.end[task], timeline.end[messages[i]]) -
                                   std::max(timeline.start[task], timeline.start[messages[i]]));
    }
  }
  return result;
}

LinkResult OwnerSimulation::describe(const Timeline &timeline) const {
  LinkResult result = {};
  double begin = timeline.start[firstTasks[kFirstSteps]];
  double end = timeline.start[firstTasks[kFirstSteps + 1]];
  result.step = (timeline.start[firstTasks.back()] - begin) / (kMeasuredSteps - 1);
  for (const ExchangedLayer &layer : step)
    result.compute += layer.forward + layer.backward + layer.weight;
  for (const Label &label : labels)
    if (double start = timeline.start[label.task]; start >= begin && start < end)
      result.tasks.push_back(
          {label.kind, label.layer, start - begin, timeline.end[label.task] - begin});
  return result;
}

LinkResult bppsa::schedule::evaluate(const TrainingStep &step, const LinkNetwork &network,
                                     const OwnerPolicy &policy) {
  std::vector<double> lost;
  // Each round reduces the error by the factor `messageShare`.
  for (int32_t round = 0; policy.messageShare > 0 && round < kRounds; ++round) {
    OwnerSimulation simulation(step, network, policy, lost);
    std::vector<double> next = simulation.getLost(simulation.simulate());
    lost = std::move(next);
  }
  OwnerSimulation simulation(step, network, policy, lost);
  return simulation.describe(simulation.simulate());
}

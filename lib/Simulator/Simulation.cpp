//===- Simulation.cpp - discrete-event simulation -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Simulation.h"
#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>
#include <queue>

using namespace bppsa::schedule;

TaskId TaskGraph::addTask(int32_t resource, double duration) {
  tasks.push_back({resource, duration});
  numResources = std::max(numResources, resource + 1);
  return getNumTasks() - 1;
}

void TaskGraph::addDependence(TaskId before, TaskId after, double lag) {
  tasks[before].successors.push_back({after, lag});
  ++tasks[after].numPredecessors;
}

namespace {
/// A time at which a resource may be able to start a task.
struct Wake {
  double time;
  int32_t resource;

  bool operator>(const Wake &other) const {
    return time != other.time ? time > other.time : resource > other.resource;
  }
};

class Simulation {
public:
  Simulation(const TaskGraph &graph, Dispatcher &dispatcher)
      : graph(graph), dispatcher(dispatcher), numWaiting(graph.getNumTasks()),
        ready(graph.getNumTasks(), 0), busyUntil(graph.getNumResources(), 0) {
    timeline.start.assign(graph.getNumTasks(), 0);
    timeline.end.assign(graph.getNumTasks(), 0);
    timeline.order.reserve(graph.getNumTasks());
  }

  std::optional<Timeline> run() {
    for (TaskId task = 0; task < graph.getNumTasks(); ++task) {
      numWaiting[task] = graph.getNumPredecessors(task);
      if (numWaiting[task] == 0)
        announce(task);
    }
    while (!wakes.empty()) {
      Wake wake = wakes.top();
      wakes.pop();
      if (busyUntil[wake.resource] > wake.time)
        continue;
      if (std::optional<TaskId> task = dispatcher.pick(wake.resource, wake.time))
        start(*task, wake.time);
    }
    if (timeline.order.size() < timeline.start.size())
      return std::nullopt;
    return std::move(timeline);
  }

private:
  void announce(TaskId task) {
    dispatcher.announce(task, ready[task]);
    wakes.push({ready[task], graph.getResource(task)});
  }

  void start(TaskId task, double now) {
    double end = now + graph.getDuration(task);
    timeline.start[task] = now;
    timeline.end[task] = end;
    timeline.makespan = std::max(timeline.makespan, end);
    busyUntil[graph.getResource(task)] = end;
    wakes.push({end, graph.getResource(task)});
    timeline.order.push_back(task);
    for (const TaskGraph::Successor &next : graph.getSuccessors(task)) {
      ready[next.task] = std::max(ready[next.task], end + next.lag);
      if (--numWaiting[next.task] == 0)
        announce(next.task);
    }
  }

  const TaskGraph &graph;
  Dispatcher &dispatcher;
  /// For each task, the predecessors not started, and the latest end plus lag of the others.
  std::vector<int32_t> numWaiting;
  std::vector<double> ready;
  std::vector<double> busyUntil;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
  Timeline timeline;
};
} // namespace

std::optional<Timeline> bppsa::schedule::simulate(const TaskGraph &graph, Dispatcher &dispatcher) {
  return Simulation(graph, dispatcher).run();
}

double bppsa::schedule::getCriticalPath(const TaskGraph &graph) {
  // With a resource per task, only dependences delay tasks.
  TaskGraph unlimited;
  for (TaskId task = 0; task < graph.getNumTasks(); ++task)
    unlimited.addTask(task, graph.getDuration(task));
  for (TaskId task = 0; task < graph.getNumTasks(); ++task)
    for (const TaskGraph::Successor &next : graph.getSuccessors(task))
      unlimited.addDependence(task, next.task, next.lag);
  QueueDispatch inAnyOrder(unlimited);
  return simulate(unlimited, inAnyOrder).value().makespan;
}

std::vector<double> bppsa::schedule::getWork(const TaskGraph &graph) {
  std::vector<double> work(graph.getNumResources(), 0);
  for (TaskId task = 0; task < graph.getNumTasks(); ++task)
    work[graph.getResource(task)] += graph.getDuration(task);
  return work;
}

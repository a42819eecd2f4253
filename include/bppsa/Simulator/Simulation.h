//===- Simulation.h - discrete events of tasks on resources -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One engine for every model of docs/Scaling.md. A resource (a device, a link, a direction of a
// network card) runs one task at a time and never interrupts it. The engine knows times and
// dependences only; which task a free resource takes, a dispatcher says. Times have any one unit.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_SIMULATION_H
#define BPPSA_SIMULATOR_SIMULATION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace bppsa::schedule {

using TaskId = int32_t;

/// Tasks with durations, each on one resource, and what they wait for.
class TaskGraph {
public:
  TaskId addTask(int32_t resource, double duration);
  /// `after` starts no earlier than `lag` after the end of `before`.
  void addDependence(TaskId before, TaskId after, double lag = 0);

  int32_t getNumTasks() const { return static_cast<int32_t>(tasks.size()); }
  int32_t getNumResources() const { return numResources; }
  int32_t getResource(TaskId task) const { return tasks[task].resource; }
  double getDuration(TaskId task) const { return tasks[task].duration; }

  struct Successor {
    TaskId task;
    double lag;
  };
  const std::vector<Successor> &getSuccessors(TaskId task) const { return tasks[task].successors; }
  int32_t getNumPredecessors(TaskId task) const { return tasks[task].numPredecessors; }

private:
  struct Task {
    int32_t resource;
    double duration;
    int32_t numPredecessors = 0;
    std::vector<Successor> successors = {};
  };
  std::vector<Task> tasks;
  int32_t numResources = 0;
};

/// Chooses among tasks that are ready.
class Dispatcher {
public:
  virtual ~Dispatcher() = default;
  /// `task` may start from `ready` on. Called once, as soon as all it waits for has started.
  virtual void announce(TaskId task, double ready) = 0;
  /// The announced task that `resource`, which is free, starts at `now`; nothing to wait until
  /// another one is ready.
  virtual std::optional<TaskId> pick(int32_t resource, double now) = 0;
};

struct Timeline {
  std::vector<double> start, end;
  /// All tasks, in the order in which they started.
  std::vector<TaskId> order;
  /// The end of the last task; the first one starts at 0 or later.
  double makespan = 0;
};

/// Runs `graph`. Nothing where tasks are left that never start: the dispatcher keeps them back, or
/// their dependences have a cycle.
std::optional<Timeline> simulate(const TaskGraph &graph, Dispatcher &dispatcher);

/// The longest path of `graph` through durations and lags; no schedule is shorter.
double getCriticalPath(const TaskGraph &graph);

/// The sum of the durations of each resource's tasks.
std::vector<double> getWork(const TaskGraph &graph);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SIMULATION_H

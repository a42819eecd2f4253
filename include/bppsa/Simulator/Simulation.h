//===- Simulation.h - discrete-event simulation -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The engine behind every model of docs/Benchmarks/Scaling.md. A resource (a device, a link, a
// direction of a network card) runs one task at a time without preemption. The engine handles only
// times and dependences; a dispatcher chooses the next task of a free resource. Times may have any
// unit.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_SIMULATION_H
#define BPPSA_SIMULATOR_SIMULATION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace bppsa::schedule {

using TaskId = int32_t;

/// Tasks with a resource, a duration and dependences.
class TaskGraph {
public:
  TaskId addTask(int32_t resource, double duration);
  /// Delays the start of `after` until `lag` after the end of `before`.
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

/// Chooses among ready tasks.
class Dispatcher {
public:
  virtual ~Dispatcher() = default;
  /// Called once per task, as soon as all its predecessors have started. The task may start at
  /// `ready` or later.
  virtual void announce(TaskId task, double ready) = 0;
  /// Returns the announced task that the free `resource` starts at `now`, or nullopt to idle until
  /// another task is ready.
  virtual std::optional<TaskId> pick(int32_t resource, double now) = 0;
};

struct Timeline {
  std::vector<double> start, end;
  /// All tasks, in the order in which they started.
  std::vector<TaskId> order;
  /// The end of the last task; time starts at 0.
  double makespan = 0;
};

/// Simulates `graph`. Returns nullopt if some tasks never start because the dispatcher holds them
/// back or their dependences are cyclic.
std::optional<Timeline> simulate(const TaskGraph &graph, Dispatcher &dispatcher);

/// Returns the longest path of `graph` through durations and lags, a lower bound for any schedule.
double getCriticalPath(const TaskGraph &graph);

/// Returns the total duration of the tasks of each resource.
std::vector<double> getWork(const TaskGraph &graph);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SIMULATION_H

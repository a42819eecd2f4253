//===- Simulation.h - discrete-event simulation -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The engine of all models in docs/Benchmarks/Scaling.md. Resources run one task at a time without
// preemption; a dispatcher chooses the next one. Times may have any unit.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_SIMULATION_H
#define BPPSA_SIMULATOR_SIMULATION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace bppsa::schedule {

using TaskId = int32_t;

class TaskGraph {
public:
  TaskId addTask(int32_t resource, double duration);
  /// Delays `after` until `lag` after the end of `before`.
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

class Dispatcher {
public:
  virtual ~Dispatcher() = default;
  /// Called once all predecessors have started. The task may start at `ready`.
  virtual void announce(TaskId task, double ready) = 0;
  /// Returns the task that `resource` starts at `now`, or nullopt to idle.
  virtual std::optional<TaskId> pick(int32_t resource, double now) = 0;
};

struct Timeline {
  std::vector<double> start, end;
  /// Tasks in the order in which they started.
  std::vector<TaskId> order;
  double makespan = 0;
};

/// Returns nullopt if some tasks never start.
std::optional<Timeline> simulate(const TaskGraph &graph, Dispatcher &dispatcher);

/// Returns the longest path through durations and lags, a lower bound for any schedule.
double getCriticalPath(const TaskGraph &graph);

/// Returns the total duration of each resource's tasks.
std::vector<double> getWork(const TaskGraph &graph);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SIMULATION_H

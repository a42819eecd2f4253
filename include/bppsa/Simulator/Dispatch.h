//===- Dispatch.h - orders of the tasks of a resource -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_DISPATCH_H
#define BPPSA_SIMULATOR_DISPATCH_H

#include "bppsa/Simulator/Simulation.h"
#include <queue>

namespace bppsa::schedule {

/// Each resource runs a list of tasks in its order, and waits for the next one.
class ListDispatch : public Dispatcher {
public:
  /// `lists[r]` holds every task of the resource r once.
  explicit ListDispatch(std::vector<std::vector<TaskId>> lists);

  void announce(TaskId task, double ready) override;
  std::optional<TaskId> pick(int32_t resource, double now) override;

private:
  std::vector<std::vector<TaskId>> lists;
  std::vector<size_t> next;
  /// Of each task; infinite before it is announced.
  std::vector<double> readyTimes;
};

/// Each resource runs the most urgent of the tasks that are ready. Where a resource has several
/// queues, they take turns.
class QueueDispatch : public Dispatcher {
public:
  explicit QueueDispatch(const TaskGraph &graph);

  /// Tasks with smaller numbers are more urgent, and of equal ones those that are ready first. The
  /// default is 0.
  void setPriority(TaskId task, double priority) { places[task].priority = priority; }
  /// Queues of a resource have the numbers 0, 1, ...; the default is 0.
  void setQueue(TaskId task, int32_t queue);

  void announce(TaskId task, double ready) override;
  std::optional<TaskId> pick(int32_t resource, double now) override;

private:
  struct Place {
    double priority = 0;
    int32_t queue = 0;
  };
  struct Entry {
    double key, ready;
    TaskId task;

    bool operator>(const Entry &other) const;
  };
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  struct Resource {
    /// Announced tasks by the time at which they are ready; then those that are, by urgency.
    Heap announced;
    std::vector<Heap> queues = std::vector<Heap>(1);
    size_t turn = 0;
  };

  const TaskGraph &graph;
  std::vector<Place> places;
  std::vector<Resource> resources;
};

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_DISPATCH_H

//===- Dispatch.h - dispatch order of tasks ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_DISPATCH_H
#define BPPSA_SIMULATOR_DISPATCH_H

#include "bppsa/Simulator/Simulation.h"
#include <queue>

namespace bppsa::schedule {

/// Runs the tasks of each resource in a given order, idling until the next one is ready.
class ListDispatch : public Dispatcher {
public:
  /// Lists every task of resource r once.
  explicit ListDispatch(std::vector<std::vector<TaskId>> lists);

  void announce(TaskId task, double ready) override;
  std::optional<TaskId> pick(int32_t resource, double now) override;

private:
  std::vector<std::vector<TaskId>> lists;
  std::vector<size_t> next;
  std::vector<double> readyTimes;
};

/// Runs the most urgent ready task, with several queues of a resource in round-robin order.
class QueueDispatch : public Dispatcher {
public:
  explicit QueueDispatch(const TaskGraph &graph);

  /// Smaller values are more urgent; ties are broken by ready time. The default is 0.
  void setPriority(TaskId task, double priority) { places[task].priority = priority; }
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

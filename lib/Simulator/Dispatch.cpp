//===- Dispatch.cpp - dispatch order of tasks -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>
#include <limits>
#include <tuple>

using namespace bppsa::schedule;

ListDispatch::ListDispatch(std::vector<std::vector<TaskId>> orders)
    : lists(std::move(orders)), next(lists.size(), 0) {
  size_t numTasks = 0;
  for (const std::vector<TaskId> &list : lists)
    numTasks += list.size();
  readyTimes.assign(numTasks, std::numeric_limits<double>::infinity());
}

void ListDispatch::announce(TaskId task, double ready) { readyTimes[task] = ready; }

std::optional<TaskId> ListDispatch::pick(int32_t resource, double now) {
  const std::vector<TaskId> &list = lists[resource];
  size_t &position = next[resource];
  if (position == list.size() || readyTimes[list[position]] > now)
    return std::nullopt;
  return list[position++];
}

bool QueueDispatch::Entry::operator>(const Entry &other) const {
  return std::tie(key, ready, task) > std::tie(other.key, other.ready, other.task);
}

QueueDispatch::QueueDispatch(const TaskGraph &graph)
    : graph(graph), places(graph.getNumTasks()), resources(graph.getNumResources()) {}

void QueueDispatch::setQueue(TaskId task, int32_t queue) {
  std::vector<Heap> &queues = resources[graph.getResource(task)].queues;
  queues.resize(std::max(queues.size(), size_t(queue) + 1));
  places[task].queue = queue;
}

void QueueDispatch::announce(TaskId task, double ready) {
  resources[graph.getResource(task)].announced.push({ready, 0, task});
}

std::optional<TaskId> QueueDispatch::pick(int32_t number, double now) {
  Resource &resource = resources[number];
  for (; !resource.announced.empty() && resource.announced.top().key <= now;
       resource.announced.pop()) {
    const Entry &entry = resource.announced.top();
    const Place &place = places[entry.task];
    resource.queues[place.queue].push({place.priority, entry.key, entry.task});
  }
  for (size_t i = 0; i < resource.queues.size(); ++i) {
    Heap &queue = resource.queues[(resource.turn + i) % resource.queues.size()];
    if (queue.empty())
      continue;
    TaskId task = queue.top().task;
    queue.pop();
    resource.turn = (resource.turn + i + 1) % resource.queues.size();
    return task;
  }
  return std::nullopt;
}

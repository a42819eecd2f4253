//===- Interlocking.cpp - modules with local losses -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Interlocking.h"
#include "bppsa/Simulator/Dispatch.h"
#include <algorithm>

using namespace bppsa::schedule;

namespace {
class Interlocking {
public:
  Interlocking(int32_t modules, int32_t window, ModuleCost cost, bool streams)
      : modules(modules), window(window), cost(cost), streams(streams), updates(modules, -1) {}

  void addStep() {
    std::vector<TaskId> outputs;
    for (int32_t module = 0; module < modules; ++module) {
      TaskId before = module > 0 ? outputs.back() : -1;
      outputs.push_back(add(module, cost.forward, {updates[module], before}));
    }
    // Cotangents from the module above, nearest loss first.
    std::vector<TaskId> received;
    for (int32_t module = modules; module-- > 0;)
      received = addBackward(module, outputs[module], std::move(received));
  }

  double getPeriod(int32_t numSteps) {
    QueueDispatch inOrderOfArrival(graph);
    Timeline timeline = simulate(graph, inOrderOfArrival).value();
    int32_t half = numSteps / 2;
    return (timeline.end[ends[numSteps - 1]] - timeline.end[ends[half - 1]]) / (numSteps - half);
  }

private:
  TaskId add(int32_t module, double time, const std::vector<TaskId> &after) {
    TaskId task = graph.addTask(module, time);
    for (TaskId before : after)
      if (before >= 0) {
        bool isLocal = graph.getResource(before) == module;
        graph.addDependence(before, task, isLocal ? 0 : cost.hop);
      }
    return task;
  }

  /// Returns the tasks of cotangents sent down. The last cotangent trains `module` but may not be
  /// sent.
  std::vector<TaskId> addBackward(int32_t module, TaskId output, std::vector<TaskId> received) {
    std::vector<TaskId> all = {add(module, cost.head, {output})};
    all.insert(all.end(), received.begin(), received.end());
    size_t numSent = module == 0 ? 0 : std::min<size_t>(all.size(), window - 1);
    std::vector<TaskId> passed;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i >= numSent && i + 1 < all.size())
        continue;
      std::vector<TaskId> after = streams ? std::vector<TaskId>{all[i]} : all;
      if (!passed.empty())
        after.push_back(passed.back());
      passed.push_back(add(module, cost.backward, after));
    }
    updates[module] = add(module, cost.weight, {passed.back()});
    if (module == 0)
      ends.push_back(updates[module]);
    passed.resize(numSent);
    return passed;
  }

  int32_t modules, window;
  ModuleCost cost;
  bool streams;
  TaskGraph graph;
  std::vector<TaskId> updates, ends;
};
} // namespace

double bppsa::schedule::getInterlockingPeriod(int32_t modules, int32_t window, ModuleCost cost,
                                              bool streams) {
  int32_t numSteps = 4 * modules;
  Interlocking simulation(modules, window, cost, streams);
  for (int32_t step = 0; step < numSteps; ++step)
    simulation.addStep();
  return simulation.getPeriod(numSteps);
}

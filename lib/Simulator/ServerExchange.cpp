//===- ServerExchange.cpp - exchange through parameter servers ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/ServerExchange.h"
#include "bppsa/Simulator/Dispatch.h"
#include "bppsa/Simulator/Simulation.h"
#include <algorithm>

using namespace bppsa::schedule;

static constexpr int64_t kControlBytes = 200, kElementBytes = 4;
/// Smaller tensors have one server.
static constexpr int64_t kSplitElements = 1000000;

namespace {
struct Part {
  int32_t layer, server;
  int64_t bytes;
};

class ServerSimulation {
public:
  ServerSimulation(const TrainingStep &step, int32_t nodes, const PacketNetwork &network,
                   const ServerPolicy &policy, int32_t numSteps)
      : step(step), nodes(nodes), network(network), policy(policy), parts(step.size()),
        arrived(nodes, std::vector<std::vector<TaskId>>(step.size())), last(nodes, -1),
        numResources(3 * nodes) {
    assignParts();
    for (int32_t i = 0; i < numSteps; ++i)
      addStep();
  }

  std::vector<double> run() {
    QueueDispatch dispatch(graph);
    for (const Packet &packet : packets) {
      dispatch.setQueue(packet.task, packet.isFromServer);
      if (policy.byPriority && !packet.isFromServer)
        dispatch.setPriority(packet.task, packet.layer);
    }
    Timeline timeline = simulate(graph, dispatch).value();
    std::vector<double> times;
    double before = 0;
    for (TaskId task : lastTasks) {
      times.push_back(timeline.end[task] - before);
      before = timeline.end[task];
    }
    return times;
  }

private:
  struct Packet {
    TaskId task;
    int32_t layer;
    bool isFromServer;
  };

  int32_t getCompute(int32_t node) const { return 3 * node; }
  int32_t getUplink(int32_t node) const { return 3 * node + 1; }
  int32_t getDownlink(int32_t node) const { return 3 * node + 2; }

  void assignParts() {
    int32_t turn = 0;
    for (int32_t layer = 0; layer < static_cast<int32_t>(step.size()); ++layer)
      for (int64_t elements : step[layer].tensors)
        if (policy.slice > 0)
          for (int64_t first = 0; first < elements; first += policy.slice)
            addPart(layer, turn++, std::min(policy.slice, elements - first));
        else if (elements >= kSplitElements)
          for (int32_t server = 0; server < nodes; ++server)
            addPart(layer, server, elements / nodes + (server < elements % nodes));
        else
          // Spreads layers like MXNet's key-value store.
          addPart(layer, 9973 * layer, elements);
  }

  void addPart(int32_t layer, int32_t server, int64_t elements) {
    parts[layer].push_back({layer, server % nodes, kElementBytes * elements});
  }

  /// Returns the task that marks the arrival.
  TaskId send(TaskId before, int32_t from, int32_t to, int64_t bytes, int32_t layer,
              bool isFromServer) {
    if (from == to)
      return before;
    TaskId arrival = graph.addTask(numResources++, 0);
    for (int64_t first = 0; first < bytes; first += network.packetBytes) {
      double time = std::min(network.packetBytes, bytes - first) / network.bytesPerSecond;
      double overhead = first == 0 ? network.messageOverhead : 0;
      TaskId up = graph.addTask(getUplink(from), overhead + time);
      TaskId down = graph.addTask(getDownlink(to), time);
      graph.addDependence(before, up);
      graph.addDependence(up, down, network.latency);
      graph.addDependence(down, arrival);
      packets.push_back({up, layer, isFromServer});
    }
    return arrival;
  }

  /// `gradients[n]` computes the gradients on node n.
  void exchange(const Part &part, const std::vector<TaskId> &gradients) {
    TaskId sum = graph.addTask(numResources++, 0);
    for (int32_t node = 0; node < nodes; ++node)
      graph.addDependence(send(gradients[node], node, part.server, part.bytes, part.layer, false),
                          sum);
    for (int32_t node = 0; node < nodes; ++node) {
      TaskId ready = sum;
      if (!policy.answersWithValues) {
        TaskId told = send(sum, part.server, node, kControlBytes, part.layer, true);
        ready = send(told, node, part.server, kControlBytes, part.layer, false);
      }
      arrived[node][part.layer].push_back(
          send(ready, part.server, node, part.bytes, part.layer, true));
    }
  }

  void addStep() {
    int32_t numLayers = static_cast<int32_t>(step.size());
    std::vector<std::vector<TaskId>> gradients(numLayers, std::vector<TaskId>(nodes));
    for (int32_t node = 0; node < nodes; ++node) {
      auto compute = [&](double time) {
        TaskId task = graph.addTask(getCompute(node), time);
        if (last[node] >= 0)
          graph.addDependence(last[node], task);
        return last[node] = task;
      };
      for (int32_t layer = 0; layer < numLayers; ++layer) {
        TaskId forward = compute(step[layer].forward);
        for (TaskId value : arrived[node][layer])
          graph.addDependence(value, forward);
        arrived[node][layer].clear();
      }
      for (int32_t layer = numLayers; layer-- > 0;)
        gradients[layer][node] = compute(step[layer].backward + step[layer].weight);
    }
    lastTasks.push_back(last[0]);
    for (int32_t layer = numLayers; layer-- > 0;)
      for (const Part &part : parts[layer])
        exchange(part, gradients[layer]);
  }

  const TrainingStep &step;
  int32_t nodes;
  const PacketNetwork &network;
  ServerPolicy policy;
  TaskGraph graph;
  std::vector<std::vector<Part>> parts;
  std::vector<Packet> packets;
  /// For each node, the tasks that deliver the values of each layer, and the last computation.
  std::vector<std::vector<std::vector<TaskId>>> arrived;
  std::vector<TaskId> last;
  int32_t numResources;
  std::vector<TaskId> lastTasks;
};
} // namespace

std::vector<double> bppsa::schedule::getServerStepTimes(const TrainingStep &step, int32_t nodes,
                                                        const PacketNetwork &network,
                                                        const ServerPolicy &policy,
                                                        int32_t numSteps) {
  return ServerSimulation(step, nodes, network, policy, numSteps).run();
}

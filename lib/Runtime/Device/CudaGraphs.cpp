//===- CudaGraphs.cpp - Kernel launches as CUDA graphs --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CudaGraphs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

/// Holds a step and an evaluation for two batch sizes each.
static constexpr size_t kMaxRecorded = 16;

KernelLaunch::KernelLaunch(Function function, const LaunchSize &size, void **given, int64_t count)
    : function(function), size(size), arguments(count) {
  for (int64_t i = 0; i < count; ++i)
    memcpy(&arguments[i], given[i], sizeof arguments[i]);
}

KernelParameters KernelLaunch::parameters() {
  addresses.clear();
  for (uint64_t &argument : arguments)
    addresses.push_back(&argument);
  auto number = [](int64_t extent) { return static_cast<unsigned>(extent); };
  return {function,
          number(size.grid[0]),
          number(size.grid[1]),
          number(size.grid[2]),
          number(size.block[0]),
          number(size.block[1]),
          number(size.block[2]),
          /*sharedBytes=*/0,
          addresses.data(),
          /*extra=*/nullptr};
}

static bool isWanted() {
  const char *value = getenv("BPPSA_CUDA_GRAPHS");
  return !value || strcmp(value, "0") != 0;
}

Graphs::Graphs(const Driver &driver, Stream stream, int priority)
    : driver(driver), stream(stream), priority(priority), used(driver.hasGraphs() && isWanted()) {}

Graphs::Recorded *Graphs::find(const std::vector<KernelLaunch> &sequence) {
  auto isSame = [&](const Recorded &recorded) {
    return std::equal(sequence.begin(), sequence.end(), recorded.sequence.begin(),
                      recorded.sequence.end(),
                      [](const KernelLaunch &a, const KernelLaunch &b) { return a.hasShapeOf(b); });
  };
  auto found = std::find_if(recent.begin(), recent.end(), isSame);
  if (found == recent.end())
    return nullptr;
  recent.splice(recent.begin(), recent, found);
  return &recent.front();
}

void Graphs::record(std::vector<KernelLaunch> &sequence) {
  if (recent.size() == kMaxRecorded) {
    destroy(recent.back());
    recent.pop_back();
  }
  recent.emplace_front().sequence = sequence;
}

/// The driver frees running graphs once they complete.
void Graphs::destroy(Recorded &recorded) {
  if (recorded.executable)
    driver.graphExecDestroy(recorded.executable);
  if (recorded.graph)
    driver.graphDestroy(recorded.graph);
}

/// Old drivers cannot raise the default, lowest priority.
bool Graphs::addNode(Recorded &recorded, KernelLaunch &launch) {
  KernelParameters parameters = launch.parameters();
  std::vector<GraphNode> before;
  for (size_t number : launch.before)
    before.push_back(recorded.nodes[number]);
  GraphNode &node = recorded.nodes.emplace_back();
  if (driver.graphAddKernelNode(&node, recorded.graph, before.data(), before.size(), &parameters) !=
      0)
    return false;
  bool hasPriority = std::any_of(recorded.sequence.begin(), recorded.sequence.end(),
                                 [](const KernelLaunch &other) { return other.isOnSubStream; });
  if (launch.isOnSubStream || !hasPriority || !driver.graphKernelNodeSetAttribute)
    return true;
  LaunchAttribute attribute = {};
  attribute.priority = priority;
  return driver.graphKernelNodeSetAttribute(node, kLaunchPriority, &attribute) == 0;
}

bool Graphs::build(Recorded &recorded) {
  if (driver.graphCreate(&recorded.graph, 0) != 0)
    return false;
  for (KernelLaunch &launch : recorded.sequence)
    if (!addNode(recorded, launch))
      return false;
  return driver.graphInstantiate(&recorded.executable, recorded.graph, 0) == 0;
}

bool Graphs::update(Recorded &recorded, std::vector<KernelLaunch> &sequence) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i].arguments == recorded.sequence[i].arguments)
      continue;
    KernelParameters parameters = sequence[i].parameters();
    if (driver.graphExecKernelNodeSetParams(recorded.executable, recorded.nodes[i], &parameters) !=
        0)
      return false;
    recorded.sequence[i].arguments = sequence[i].arguments;
  }
  return true;
}

bool Graphs::prepare(std::vector<KernelLaunch> &sequence) {
  if (!used || sequence.size() < 2)
    return false;
  Recorded *recorded = find(sequence);
  if (!recorded) {
    record(sequence);
    return false;
  }
  if (!recorded->executable) {
    recorded->sequence = sequence;
    used = build(*recorded);
  } else {
    used = update(*recorded, sequence);
  }
  return used;
}

bool Graphs::launch() {
  used = driver.graphLaunch(recent.front().executable, stream) == 0;
  return used;
}

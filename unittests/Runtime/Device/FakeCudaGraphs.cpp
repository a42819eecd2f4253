//===- FakeCudaGraphs.cpp - CUDA graphs in host memory --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FakeGpu.h"
#include <algorithm>
#include <set>
#include <vector>

using namespace fake;

namespace {
struct FakeNode {
  std::string kernel;
  std::function<void()> work;
  std::vector<FakeNode *> before;
  int priority = 0;
};

struct FakeGraph {
  /// A list, so that node addresses are stable.
  std::list<FakeNode> nodes;
};

struct FakeExec {
  std::vector<std::pair<FakeNode *, std::function<void()>>> nodes;

  /// Formats the kernels, each followed by its priority if that is not the lowest.
  std::string names() const {
    std::string line;
    for (const auto &[node, work] : nodes) {
      line += " " + node->kernel;
      if (node->priority != 0)
        line += ":" + std::to_string(node->priority);
    }
    return line;
  }
  /// Runs the nodes in reverse order as far as dependences allow, so that missing dependences show.
  std::function<void()> work() const {
    return [nodes = nodes] {
      std::set<FakeNode *> done;
      while (done.size() < nodes.size())
        for (auto entry = nodes.rbegin(); entry != nodes.rend(); ++entry) {
          const std::vector<FakeNode *> &before = entry->first->before;
          bool ready = std::all_of(before.begin(), before.end(),
                                   [&](FakeNode *node) { return done.count(node) != 0; });
          if (ready && done.insert(entry->first).second)
            entry->second();
        }
    };
  }
};
} // namespace

extern "C" {
Result cuGraphCreate(FakeGraph **graph, unsigned) {
  *graph = new FakeGraph;
  return begin("cuGraphCreate");
}
Result cuGraphAddKernelNode(FakeNode **node, FakeGraph *graph, FakeNode *const *before,
                            size_t count, const KernelParameters *parameters) {
  if (!canRun(*parameters))
    return invalidValue;
  graph->nodes.push_back(
      {parameters->function->name, workOf(*parameters), {before, before + count}, 0});
  *node = &graph->nodes.back();
  return begin("cuGraphAddKernelNode");
}
Result cuGraphKernelNodeSetAttribute(FakeNode *node, int attribute, const int *value) {
  if (attribute != 8)
    return invalidValue;
  node->priority = *value;
  return begin("cuGraphKernelNodeSetAttribute");
}
Result cuGraphInstantiateWithFlags(FakeExec **exec, FakeGraph *graph, unsigned long long) {
  *exec = new FakeExec;
  for (FakeNode &node : graph->nodes)
    (*exec)->nodes.emplace_back(&node, node.work);
  log("graph of " + std::to_string(graph->nodes.size()));
  return begin("cuGraphInstantiateWithFlags");
}
Result cuGraphExecKernelNodeSetParams(FakeExec *exec, FakeNode *node,
                                      const KernelParameters *parameters) {
  if (!canRun(*parameters) || parameters->function->name != node->kernel)
    return invalidValue;
  log("update " + node->kernel);
  for (auto &[original, work] : exec->nodes)
    if (original == node)
      work = workOf(*parameters);
  return begin("cuGraphExecKernelNodeSetParams");
}
Result cuGraphExecDestroy(FakeExec *exec) {
  delete exec;
  return begin("cuGraphExecDestroy");
}
Result cuGraphDestroy(FakeGraph *graph) {
  delete graph;
  return begin("cuGraphDestroy");
}
Result cuGraphLaunch(FakeExec *exec, Stream *stream) {
  log("replay" + exec->names());
  return enqueue("cuGraphLaunch", stream, {exec->work()});
}
}

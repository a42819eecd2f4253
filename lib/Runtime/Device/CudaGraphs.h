//===- CudaGraphs.h - sequences of launches as graphs ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DEVICE_CUDAGRAPHS_H
#define BPPSA_LIB_RUNTIME_DEVICE_CUDAGRAPHS_H

#include "CudaDriver.h"
#include "bppsa/Runtime/Device/Device.h"

#include <list>
#include <vector>

namespace bppsa::runtime::cuda {

/// A kernel that is to be started, with copies of its arguments.
struct KernelLaunch {
  KernelLaunch(Function function, const LaunchSize &size, void **arguments, int64_t count);
  /// What the driver takes; it points into this object.
  KernelParameters parameters();
  /// Whether the two differ in their arguments at most.
  bool hasShapeOf(const KernelLaunch &other) const {
    return function == other.function && size.grid == other.size.grid &&
           size.block == other.size.block && before == other.before && isBeside == other.isBeside;
  }

  Function function;
  LaunchSize size;
  std::vector<uint64_t> arguments;
  /// The numbers of the launches of its sequence that it waits for, in ascending order.
  std::vector<size_t> before;
  /// Whether it has the lowest priority, that of the sub stream.
  bool isBeside = false;

private:
  std::vector<void *> addresses;
};

/// Starts sequences of launches that come again as one graph each, which costs the host and the GPU
/// less than starting kernel after kernel.
class Graphs {
public:
  /// For work on `stream`, of priority `priority`. Without effect where the driver is older than
  /// CUDA 11.4, or where the environment variable BPPSA_CUDA_GRAPHS is 0.
  Graphs(const Driver &driver, Stream stream, int priority);
  Graphs(const Graphs &) = delete;

  bool areUsed() const { return used; }
  /// Whether there is a graph for `sequence`: not where it is new, where it is a single launch, or
  /// where the driver refuses. In the last case graphs are not used any more.
  bool prepare(std::vector<KernelLaunch> &sequence);
  /// Starts the one that was prepared. False where the driver refuses, as above.
  bool launch();

private:
  /// A sequence that was seen, and its graph from the second time on.
  struct Recorded {
    std::vector<KernelLaunch> sequence;
    Graph graph = nullptr;
    GraphExec executable = nullptr;
    std::vector<GraphNode> nodes;
  };

  Recorded *find(const std::vector<KernelLaunch> &sequence);
  void record(std::vector<KernelLaunch> &sequence);
  bool addNode(Recorded &recorded, KernelLaunch &launch);
  bool build(Recorded &recorded);
  bool update(Recorded &recorded, std::vector<KernelLaunch> &sequence);
  void destroy(Recorded &recorded);

  const Driver &driver;
  Stream stream;
  int priority;
  bool used;
  /// The one that was used last comes first.
  std::list<Recorded> recent;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDAGRAPHS_H

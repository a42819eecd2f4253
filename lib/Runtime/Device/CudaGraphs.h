//===- CudaGraphs.h - Kernel launches as CUDA graphs ----------------------===//
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

/// A kernel launch with copies of its arguments.
struct KernelLaunch {
  KernelLaunch(Function function, const LaunchSize &size, void **arguments, int64_t count);
  /// The driver's parameters, which point into this object.
  KernelParameters parameters();
  bool hasShapeOf(const KernelLaunch &other) const {
    return function == other.function && size.grid == other.size.grid &&
           size.block == other.size.block && before == other.before && isBeside == other.isBeside;
  }

  Function function;
  LaunchSize size;
  std::vector<uint64_t> arguments;
  /// Indices of launches in its sequence that it waits for, in ascending order.
  std::vector<size_t> before;
  /// Has the low priority of the sub stream.
  bool isBeside = false;

private:
  std::vector<void *> addresses;
};

/// Launches recurring sequences of kernels as CUDA graphs, which costs the host and the GPU less
/// than separate launches.
class Graphs {
public:
  /// Uses no graphs if the driver is older than CUDA 11.4 or if BPPSA_CUDA_GRAPHS in the
  /// environment is 0.
  Graphs(const Driver &driver, Stream stream, int priority);
  Graphs(const Graphs &) = delete;

  bool areUsed() const { return used; }
  /// Returns false if the sequence is new, is a single launch, or is rejected by the driver, which
  /// disables graphs.
  bool prepare(std::vector<KernelLaunch> &sequence);
  /// Launches the prepared graph. Returns false as prepare() does.
  bool launch();

private:
  /// The graph is built when the sequence occurs for the second time.
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
  /// Most recently used first.
  std::list<Recorded> recent;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDAGRAPHS_H

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

struct KernelLaunch {
  KernelLaunch(Function function, const LaunchSize &size, void **arguments, int64_t count);
  KernelParameters parameters();
  bool hasShapeOf(const KernelLaunch &other) const {
    return function == other.function && size.grid == other.size.grid &&
           size.block == other.size.block && before == other.before &&
           isOnSubStream == other.isOnSubStream;
  }

  Function function;
  LaunchSize size;
  std::vector<uint64_t> arguments;
  std::vector<size_t> before;
  /// Has the low priority of the sub stream.
  bool isOnSubStream = false;

private:
  std::vector<void *> addresses;
};

/// Launches recurring kernel sequences as CUDA graphs, which is cheaper than separate launches.
class Graphs {
public:
  /// Disabled before CUDA 11.4 and by BPPSA_CUDA_GRAPHS=0.
  Graphs(const Driver &driver, Stream stream, int priority);
  Graphs(const Graphs &) = delete;

  bool areUsed() const { return used; }
  /// Returns false for new or single-launch sequences and if the driver rejects the graph, which
  /// disables graphs.
  bool prepare(std::vector<KernelLaunch> &sequence);
  bool launch();

private:
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
  std::list<Recorded> recent;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDAGRAPHS_H

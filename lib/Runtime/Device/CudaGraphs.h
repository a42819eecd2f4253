//===- CudaGraphs.h - sequences of launches as graphs ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_CUDAGRAPHS_H
#define BPPSA_LIB_RUNTIME_CUDAGRAPHS_H

#include "CudaDriver.h"
#include "bppsa/Runtime/Device/Device.h"

#include <list>
#include <vector>

namespace bppsa::runtime::cuda {

/// A kernel that is to be started, with copies of its arguments.
struct Launch {
  Launch(Function function, const LaunchSize &size, void **arguments, int64_t count);
  /// What the driver takes; it points into this object.
  KernelParameters parameters();
  /// Whether the two differ in their arguments at most.
  bool hasShapeOf(const Launch &other) const {
    return function == other.function && size.grid == other.size.grid &&
           size.block == other.size.block;
  }

  Function function;
  LaunchSize size;
  std::vector<uint64_t> arguments;

private:
  std::vector<void *> addresses;
};

/// Starts sequences of launches that come again as one graph each, which costs the host and the GPU
/// less than starting kernel after kernel.
class Graphs {
public:
  /// For work on `stream`. Without effect where the driver is older than CUDA 11.4, or where the
  /// environment variable BPPSA_CUDA_GRAPHS is 0.
  Graphs(const Driver &driver, Stream stream);
  Graphs(const Graphs &) = delete;

  bool areUsed() const { return used; }
  /// Starts `sequence`. Returns false, and has started nothing, when there is no graph for it: it
  /// is new, it is a single launch, or the driver refuses. In the last case graphs are not used any
  /// more.
  bool launch(std::vector<Launch> &sequence);

private:
  /// A sequence that was seen, and its graph from the second time on.
  struct Recorded {
    std::vector<Launch> sequence;
    Graph graph = nullptr;
    GraphExec executable = nullptr;
    std::vector<GraphNode> nodes;
  };

  Recorded *find(const std::vector<Launch> &sequence);
  void record(std::vector<Launch> &sequence);
  bool build(Recorded &recorded);
  bool update(Recorded &recorded, std::vector<Launch> &sequence);
  void destroy(Recorded &recorded);

  const Driver &driver;
  Stream stream;
  bool used;
  /// The one that was used last comes first.
  std::list<Recorded> recent;
};

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_CUDAGRAPHS_H

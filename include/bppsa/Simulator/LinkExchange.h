//===- LinkExchange.h - collective exchange of gradients --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training from the view of one of many equal workers, whose link exchanges one
// gradient part after the other.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_LINKEXCHANGE_H
#define BPPSA_SIMULATOR_LINKEXCHANGE_H

#include "bppsa/Simulator/DataParallel.h"
#include "bppsa/Simulator/Simulation.h"

namespace bppsa::schedule {

struct LinkNetwork {
  int32_t workers;
  double bytesPerSecond;
  /// Seconds per message.
  double latency = 0;
};

struct LinkPolicy {
  /// Bytes per part.
  int64_t partBytes = 4 << 20;
  /// The first `crossing` layers are exchanged during the next step, which waits for all others
  /// before it starts.
  int32_t crossing = 0;
  /// Parameter gradients of the first `reversed` layers follow all cotangents, in forward order
  /// (reverse first-k).
  int32_t reversed = 0;
  /// Send the part that the next step needs first rather than the first ready part.
  bool byPriority = false;
  /// Reduce-scatter during the backward pass and all-gather during the next forward pass, in fixed
  /// order (DeAR).
  bool gathersLater = false;
  /// Parts travel to a server and back without blocking the link; otherwise 2 log2(workers) rounds
  /// block it.
  bool usesServers = false;
};

struct LinkResult {
  /// In seconds, in the steady state.
  double step, compute;
  /// Times are relative to the start of the forward pass.
  struct Task {
    enum class Kind { Forward, Backward, Weight, Exchange } kind;
    int32_t layer;
    double start, end;
  };
  std::vector<Task> tasks;
};

LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network, const LinkPolicy &policy);

/// Exchanges gradients as soon as they are computed, with a barrier.
constexpr LinkPolicy kAllReduce = {};

/// P3 uses slices of `slice` elements. Reverse first-k has one barrier for the remaining layers.
LinkPolicy makeP3(int32_t layers, int64_t slice);
LinkPolicy makeDear(int32_t layers);
LinkPolicy makeReverseFirst(int32_t reversed);

/// Returns the smallest k for which reverse first-k is fastest.
int32_t searchReverseFirst(const TrainingStep &step, const LinkNetwork &network);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_LINKEXCHANGE_H

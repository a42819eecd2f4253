//===- LinkExchange.h - collective exchange of gradients --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training from the view of one of many equal workers: it computes, and its link
// exchanges gradient parts with all others, one part after the other and without preemption.
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
  /// Seconds of one message between workers.
  double latency = 0;
};

struct LinkPolicy {
  /// Maximum bytes of a gradient part.
  int64_t partBytes = 4 << 20;
  /// The first `crossing` layers are exchanged while the next step has already begun. Before its
  /// first layer, that step waits for all other layers.
  int32_t crossing = 0;
  /// Parameter gradients of the first `reversed` layers are computed after all cotangents, in
  /// forward order (reverse first-k of out-of-order backprop).
  int32_t reversed = 0;
  /// True if the link sends the part needed first by the next step rather than the part that was
  /// ready first.
  bool byPriority = false;
  /// True if gradients are reduce-scattered during the backward pass and updated values are
  /// all-gathered during the next forward pass, in a fixed order (DeAR).
  bool gathersLater = false;
  /// True if parts travel to a server and back, as two messages that do not block the link.
  /// Otherwise they are exchanged in 2 log2(workers) rounds that do.
  bool usesServers = false;
};

struct LinkResult {
  /// Seconds of a step in the steady state, and seconds of its computation.
  double step, compute;
  /// Tasks of one steady-state step on the worker and its link, relative to the start of its
  /// forward pass.
  struct Task {
    enum class Kind { Forward, Backward, Weight, Exchange } kind;
    int32_t layer;
    double start, end;
  };
  std::vector<Task> tasks;
};

/// Simulates enough steps to reach the steady state.
LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network, const LinkPolicy &policy);

/// All-reduces each gradient as soon as it is computed, with a barrier before the next step.
constexpr LinkPolicy kAllReduce = {};

/// Policies for a model of `layers` layers: P3 with slices of `slice` elements, DeAR, and reverse
/// first-k with one barrier for the remaining layers.
LinkPolicy makeP3(int32_t layers, int64_t slice);
LinkPolicy makeDear(int32_t layers);
LinkPolicy makeReverseFirst(int32_t reversed);

/// Returns the smallest k for which reverse first-k is fastest.
int32_t searchReverseFirst(const TrainingStep &step, const LinkNetwork &network);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_LINKEXCHANGE_H

//===- LinkExchange.h - collective exchange of gradients --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training as one of many equal workers sees it: it computes, and its link exchanges
// parts of gradients with all others, one after the other. Parts are not interrupted.
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
  /// Seconds of one message from worker to worker.
  double latency = 0;
};

struct LinkPolicy {
  /// Bytes of gradients that are exchanged at a time.
  int64_t partBytes = 4 << 20;
  /// So many layers, the first of the model, are exchanged while the next step begins; it waits for
  /// all others before its first layer.
  int32_t crossing = 0;
  /// Of these the gradients of parameters are formed after all cotangents, that of the first layer
  /// first (reverse first-k of out-of-order backprop).
  int32_t reversed = 0;
  /// Whether the link takes the part that the next step needs first, not the one that is ready
  /// first.
  bool byPriority = false;
  /// Whether gradients are reduced and scattered in the backward pass, and new values gathered in
  /// the next forward pass, in an order that is known beforehand (DeAR).
  bool gathersLater = false;
  /// Whether parts go to a server and back, two messages that do not hold the link up; otherwise
  /// they are exchanged in twice log2(workers) rounds that do.
  bool usesServers = false;
};

struct LinkResult {
  /// Seconds of a step in the long run, and of its computations alone.
  double step, compute;
  /// The last of the simulated steps, on the resources 0 (the worker) and 1 (its link), from the
  /// start of its forward pass on.
  struct Task {
    enum class Kind { Forward, Backward, Weight, Exchange } kind;
    int32_t layer;
    double start, end;
  };
  std::vector<Task> tasks;
};

/// Runs steps until they repeat themselves.
LinkResult evaluate(const TrainingStep &step, const LinkNetwork &network, const LinkPolicy &policy);

/// All-reduce of each gradient once it is there, and a barrier before the next step.
constexpr LinkPolicy kAllReduce = {};

/// P3 with slices of `slice` elements, DeAR, and reverse first-k with one barrier for the other
/// layers, for a model of so many `layers`.
LinkPolicy makeP3(int32_t layers, int64_t slice);
LinkPolicy makeDear(int32_t layers);
LinkPolicy makeReverseFirst(int32_t reversed);

/// The fewest layers with which reverse first-k is fastest.
int32_t searchReverseFirst(const TrainingStep &step, const LinkNetwork &network);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_LINKEXCHANGE_H

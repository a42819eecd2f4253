//===- ServerExchange.h - exchange through parameter servers ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training on nodes that are both worker and server. Messages are cut into packets,
// each of which occupies the sender's uplink and then the receiver's downlink.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_SERVEREXCHANGE_H
#define BPPSA_SIMULATOR_SERVEREXCHANGE_H

#include "bppsa/Simulator/DataParallel.h"

namespace bppsa::schedule {

/// A full-duplex network card on each node.
struct PacketNetwork {
  double bytesPerSecond;
  /// Seconds from the end of a packet on the uplink to its start on the downlink.
  double latency = 50e-6;
  int64_t packetBytes = 256 << 10;
  /// Additional seconds of uplink time per message.
  double messageOverhead = 0;
};

/// Destinations and order of messages.
struct ServerPolicy {
  /// Elements of a slice; slices are assigned to servers round-robin. If 0, tensors of at least a
  /// million elements are split evenly over the servers and smaller tensors are assigned to one
  /// server.
  int64_t slice = 0;
  /// True if workers send the gradients of the first layers first, rather than in the order in
  /// which they are ready.
  bool byPriority = false;
  /// True if servers answer the last gradient with the new values. Otherwise they acknowledge it,
  /// and workers then request the values.
  bool answersWithValues = false;
};

/// A parameter server as in frameworks before P3, and P3.
constexpr ServerPolicy kServerFifo = {}, kServerP3 = {50000, true, true};

/// Returns the seconds between the ends of the backward passes of consecutive steps on the first of
/// `nodes` nodes. The first step has nothing to wait for.
std::vector<double> getServerStepTimes(const TrainingStep &step, int32_t nodes,
                                       const PacketNetwork &network, const ServerPolicy &policy,
                                       int32_t numSteps);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SERVEREXCHANGE_H

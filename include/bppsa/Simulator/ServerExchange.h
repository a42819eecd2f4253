//===- ServerExchange.h - gradients through parameter servers ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training on nodes that are worker and server at once. Messages are cut into
// packets, each of which takes its time on the sender's uplink and, later, on the receiver's
// downlink.
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
  /// Seconds that the uplink needs for each message beside its packets.
  double messageOverhead = 0;
};

/// What goes to which server, and in which order.
struct ServerPolicy {
  /// Elements of a slice, which go to the servers in turns; 0: tensors of at least a million
  /// elements are split evenly over the servers, and others go to one.
  int64_t slice = 0;
  /// Whether workers send what the next forward pass needs first, not what is ready first.
  bool byPriority = false;
  /// Whether servers answer the last gradient with the new values; otherwise with an
  /// acknowledgement, which workers answer with a request for the values.
  bool answersWithValues = false;
};

/// A parameter server as frameworks had it before P3, and P3.
constexpr ServerPolicy kServerFifo = {}, kServerP3 = {50000, true, true};

/// Seconds from the end of the backward pass of each step to that of the next one, on the first of
/// `nodes` nodes; the first step begins with nothing to wait for.
std::vector<double> getServerStepTimes(const TrainingStep &step, int32_t nodes,
                                       const PacketNetwork &network, const ServerPolicy &policy,
                                       int32_t numSteps);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SERVEREXCHANGE_H

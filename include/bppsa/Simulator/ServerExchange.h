//===- ServerExchange.h - exchange through parameter servers ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Data-parallel training on nodes that are worker and server. Each packet of a message occupies the
// sender's uplink, then the receiver's downlink.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_SERVEREXCHANGE_H
#define BPPSA_SIMULATOR_SERVEREXCHANGE_H

#include "bppsa/Simulator/DataParallel.h"

namespace bppsa::schedule {

/// Each node has a full-duplex network card.
struct PacketNetwork {
  double bytesPerSecond;
  /// The seconds between uplink and downlink.
  double latency = 50e-6;
  int64_t packetBytes = 256 << 10;
  /// Additional seconds on the uplink.
  double messageOverhead = 0;
};

struct ServerPolicy {
  /// The elements of a slice, assigned to servers round-robin. If 0, tensors of at least a million
  /// elements are split evenly.
  int64_t slice = 0;
  /// Send gradients of the first layers first.
  bool byPriority = false;
  /// Answer the last gradient with new values. Otherwise servers acknowledge it, and workers
  /// request the values.
  bool answersWithValues = false;
};

constexpr ServerPolicy kServerFifo = {}, kServerP3 = {50000, true, true};

/// Returns the seconds between the ends of backward passes on the first node.
std::vector<double> getServerStepTimes(const TrainingStep &step, int32_t nodes,
                                       const PacketNetwork &network, const ServerPolicy &policy,
                                       int32_t numSteps);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_SERVEREXCHANGE_H

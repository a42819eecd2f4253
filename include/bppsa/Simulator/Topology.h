//===- Topology.h - devices whose links differ ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_TOPOLOGY_H
#define BPPSA_SIMULATOR_TOPOLOGY_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// The time of a hop from each device to each other one; row by row, in the unit of operations.
using Links = std::vector<std::vector<double>>;

/// The devices that stand where `pipeline` has the devices 0, 1, ...: those with the least sum of
/// hops between neighbouring stages. Of orders that are equally good the first one, as texts are
/// ordered; the best of all for up to `kMaxTried` devices, for more one that no exchange of two
/// makes better.
std::vector<int32_t> findDeviceOrder(const Pipeline &pipeline, const Links &links);
inline constexpr int32_t kMaxTried = 9;

/// Gives the stages of `pipeline` the hops that they have where `order` says which devices stand in
/// its places.
void setHops(Pipeline &pipeline, const Links &links, const std::vector<int32_t> &order);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_TOPOLOGY_H

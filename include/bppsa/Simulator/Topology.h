//===- Topology.h - devices with unequal links ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_TOPOLOGY_H
#define BPPSA_SIMULATOR_TOPOLOGY_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Hop times between devices, in the unit of the operations.
using Links = std::vector<std::vector<double>>;

/// Minimizes the sum of hops between adjacent stages: the lexicographically first optimum for up to
/// `kMaxTried` devices, otherwise a local optimum under swaps.
std::vector<int32_t> findDeviceOrder(const Pipeline &pipeline, const Links &links);
inline constexpr int32_t kMaxTried = 9;

/// Device d of `pipeline` is the actual device `order[d]`.
void setHops(Pipeline &pipeline, const Links &links, const std::vector<int32_t> &order);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_TOPOLOGY_H

//===- Topology.h - devices with unequal links ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_TOPOLOGY_H
#define BPPSA_SIMULATOR_TOPOLOGY_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Hop time from each device to each other device; row-major, in the unit of the operations.
using Links = std::vector<std::vector<double>>;

/// Returns the device for each device number of `pipeline`, chosen to minimize the sum of hops
/// between adjacent stages. For up to `kMaxTried` devices the result is the lexicographically first
/// optimum; for more devices it is a local optimum under swaps of two devices.
std::vector<int32_t> findDeviceOrder(const Pipeline &pipeline, const Links &links);
inline constexpr int32_t kMaxTried = 9;

/// Sets the hops of the stages of `pipeline` if its device d is the actual device `order[d]`.
void setHops(Pipeline &pipeline, const Links &links, const std::vector<int32_t> &order);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_TOPOLOGY_H

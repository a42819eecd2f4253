//===- PipelineSearch.h - schedules under a memory limit --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINESEARCH_H
#define BPPSA_SIMULATOR_PIPELINESEARCH_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Returns the orders with the shortest span among deferral rules, for one stage per device. No
/// device keeps more than `limit` activations (at least 1), in units of its activations per
/// microbatch.
DeviceOrders searchDeferral(const Pipeline &pipeline, double limit);

/// Returns the orders with the shortest span among dispatch rules and building blocks, for stages
/// in a V shape. Returns nullopt if no rule satisfies `limit`.
std::optional<DeviceOrders> searchVShape(const Pipeline &pipeline, double limit);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESEARCH_H

//===- PipelineSearch.h - schedules under a memory limit --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINESEARCH_H
#define BPPSA_SIMULATOR_PIPELINESEARCH_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// Returns the shortest span among deferral rules, for one stage per device. No device keeps more
/// than `limit` (at least 1) times its activations per microbatch.
DeviceOrders searchDeferral(const Pipeline &pipeline, double limit);

/// Returns the shortest span among dispatch rules and building blocks, for a V shape, or nullopt if
/// none satisfies `limit`.
std::optional<DeviceOrders> searchVShape(const Pipeline &pipeline, double limit);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESEARCH_H

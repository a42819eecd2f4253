//===- PipelineSearch.h - pipeline schedules within a memory ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_PIPELINESEARCH_H
#define BPPSA_SIMULATOR_PIPELINESEARCH_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// The orders with the shortest span among deferral rules, for one stage on each device. No device
/// keeps more activations than `limit`, at least 1, in those that it keeps of one microbatch.
DeviceOrders searchDeferral(const Pipeline &pipeline, double limit);

/// The orders with the shortest span among dispatch rules and building blocks, for a V shape of
/// stages. Nothing where no rule keeps to `limit`.
std::optional<DeviceOrders> searchVShape(const Pipeline &pipeline, double limit);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_PIPELINESEARCH_H

//===- VShape.h - schedules with two stages per device ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_VSHAPE_H
#define BPPSA_SIMULATOR_VSHAPE_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// A periodic schedule: each microbatch follows the previous one by six time units. Fields are
/// delays between devices.
struct BuildingBlock {
  int32_t forwardDown, forwardUp, backwardDown, backwardUp;
};

/// Building blocks of "Pipeline Parallelism with Controllable Memory", with about a third (V-Min)
/// or half (V-Half) of the activations of 1F1B.
constexpr BuildingBlock kVMin = {1, 1, 1, 1}, kVHalf = {1, 2, 1, 2};

/// Schedules a V shape, with parameter gradients in idle times. Returns nullopt if operations
/// overlap.
std::optional<DeviceOrders> orderByBlock(const Pipeline &pipeline, BuildingBlock block);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_VSHAPE_H

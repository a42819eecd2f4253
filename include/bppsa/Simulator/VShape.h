//===- VShape.h - schedules with two stages per device ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_VSHAPE_H
#define BPPSA_SIMULATOR_VSHAPE_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// A periodic schedule: every microbatch repeats the operations of the previous microbatch six time
/// units later. The fields are the delays from device to device, in time units.
struct BuildingBlock {
  int32_t forwardDown, forwardUp, backwardDown, backwardUp;
};

/// Building blocks of "Pipeline Parallelism with Controllable Memory". Devices keep about a third
/// (V-Min) or half (V-Half) of the activations of 1F1B.
constexpr BuildingBlock kVMin = {1, 1, 1, 1}, kVHalf = {1, 2, 1, 2};

/// Returns the orders of `block` for stages in a V shape (placeVShape); parameter gradients fill
/// the idle times. Returns nullopt if operations of a device overlap.
std::optional<DeviceOrders> orderByBlock(const Pipeline &pipeline, BuildingBlock block);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_VSHAPE_H

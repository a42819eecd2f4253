//===- VShape.h - two stages on each device, there and back -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_VSHAPE_H
#define BPPSA_SIMULATOR_VSHAPE_H

#include "bppsa/Simulator/Pipeline.h"

namespace bppsa::schedule {

/// A schedule in which every microbatch repeats what the one before it did, a period of six unit
/// times later: from device to device its operations come so many unit times after each other.
struct BuildingBlock {
  int32_t forwardDown, forwardUp, backwardDown, backwardUp;
};

/// Blocks of "Pipeline Parallelism with Controllable Memory". Devices keep about a third and a half
/// of the activations of 1F1B.
constexpr BuildingBlock kVMin = {1, 1, 1, 1}, kVHalf = {1, 2, 1, 2};

/// The orders of `block` for a V shape of stages (placeVShape); gradients of parameters fill the
/// times that are left. Nothing where devices would have two operations at a time.
std::optional<DeviceOrders> orderByBlock(const Pipeline &pipeline, BuildingBlock block);

} // namespace bppsa::schedule

#endif // BPPSA_SIMULATOR_VSHAPE_H

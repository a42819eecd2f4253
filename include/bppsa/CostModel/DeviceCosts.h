//===- DeviceCosts.h - instructions of a chain on a GPU ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_DEVICECOSTS_H
#define BPPSA_COSTMODEL_DEVICECOSTS_H

#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Counts what `loop`, over one sample at a time, takes on a GPU
/// (docs/Explanation/GPUCosts.md).
cost::ChainCost getDeviceCost(ChainOp loop);

/// What a loop takes on a GPU, and the mappings of its links and of the columns of their
/// transitions, which that follows from.
struct DeviceChain {
  cost::ChainCost cost;
  GPUMappingAttr link, columns;
};

/// Every sequential loop under `root` that kernels run, in the order in which they run.
std::vector<DeviceChain> getDeviceChains(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_DEVICECOSTS_H

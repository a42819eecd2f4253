//===- DeviceCosts.h - GPU instruction counts of chains ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_DEVICECOSTS_H
#define BPPSA_COSTMODEL_DEVICECOSTS_H

#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Counts the GPU instructions of `loop`, for one sample (docs/Explanation/GPUCosts.md).
cost::ChainCost getDeviceCost(ChainOp loop);

struct DeviceChain {
  cost::ChainCost cost;
  GPUMappingAttr link, columns;
};

/// Returns the costs of all sequential loops under `root` that become kernels, in execution order.
std::vector<DeviceChain> getDeviceChains(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_DEVICECOSTS_H

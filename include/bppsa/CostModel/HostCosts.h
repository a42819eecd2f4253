//===- HostCosts.h - CPU operation counts of chains -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_HOSTCOSTS_H
#define BPPSA_COSTMODEL_HOSTCOSTS_H

#include "bppsa/CostModel/Machines/HostCost.h"
#include "mlir/IR/Operation.h"

namespace bppsa {

/// Returns the CPU costs (docs/Explanation/CPUCosts.md) of the links of every `bppsa.chain` under
/// `root`, in execution order.
std::vector<cost::HostChain> getHostCosts(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_HOSTCOSTS_H

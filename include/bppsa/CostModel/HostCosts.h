//===- HostCosts.h - operations of a chain on a CPU -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_HOSTCOSTS_H
#define BPPSA_COSTMODEL_HOSTCOSTS_H

#include "bppsa/CostModel/Machines/HostCost.h"
#include "mlir/IR/Operation.h"

namespace bppsa {

/// What the links of every `bppsa.chain` under `root` take on a CPU (docs/Explanation/CPUCosts.md),
/// in the order in which the chains run.
std::vector<cost::HostChain> getHostCosts(mlir::Operation *root);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_HOSTCOSTS_H

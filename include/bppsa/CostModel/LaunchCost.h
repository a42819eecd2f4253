//===- LaunchCost.h - predicted cost of GPU launches ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_LAUNCHCOST_H
#define BPPSA_COSTMODEL_LAUNCHCOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Predicted times of launches in microseconds (docs/Explanation/GPUCosts.md); they are not
/// measured.
struct LaunchCost {
  /// Time of the launches in sequence on an otherwise idle device.
  double alone = 0;
  /// Time for which the launches occupy all schedulers, and the memory.
  double issue = 0, memory = 0;

  LaunchCost &operator+=(const LaunchCost &other);
  /// Returns the time of these launches on one stream and `other` on another, which share
  /// schedulers and memory.
  double beside(const LaunchCost &other) const;
};

/// Returns the cost of the launch `op` of `kernel` (null if unknown). Dynamic sizes count as
/// `size`.
LaunchCost getLaunchCost(mlir::Operation *op, mlir::func::FuncOp kernel, int64_t size);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_LAUNCHCOST_H

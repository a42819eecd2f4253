//===- LaunchCost.h - what a launch takes of a GPU --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_LAUNCHCOST_H
#define BPPSA_COSTMODEL_LAUNCHCOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Microseconds of launches by the counts and constants of the cost model
/// (docs/Explanation/GPUCosts.md), which were not measured.
struct LaunchCost {
  /// One launch after the other, with nothing beside.
  double alone = 0;
  /// What they keep the schedulers of all multiprocessors, and the memory, busy.
  double issue = 0, memory = 0;

  LaunchCost &operator+=(const LaunchCost &other);
  /// Of these launches on one stream and `other` on another one: no stream ends sooner than alone,
  /// and both share what keeps the device busy.
  double beside(const LaunchCost &other) const;
};

/// What the call `op` of `kernel`, or of nothing that is known where that is null, takes. Sizes
/// that only the run time knows count as `size`.
LaunchCost getLaunchCost(mlir::Operation *op, mlir::func::FuncOp kernel, int64_t size);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_LAUNCHCOST_H

//===- StatisticUpdates.h - updates of running statistics -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Returns the operations of the single block of `function` that are only needed for new running
/// statistics, last operation first. A microbatch reads the statistics that the previous microbatch
/// wrote, so these operations may run after all others.
llvm::SetVector<mlir::Operation *> findStatisticUpdates(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

//===- StatisticUpdates.h - updates of running statistics -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// Returns the operations only needed for new running statistics, last first. They may run last: a
/// microbatch reads the statistics of the previous one.
llvm::SetVector<mlir::Operation *> findStatisticUpdates(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

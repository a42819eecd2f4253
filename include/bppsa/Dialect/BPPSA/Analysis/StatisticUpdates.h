//===- StatisticUpdates.h - what computes running statistics ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// The operations of the one block of `function` that only new running statistics need, the last
/// one first. A microbatch reads the statistics that the one before it has left there, and may do
/// so when all else is done.
llvm::SetVector<mlir::Operation *> findStatisticUpdates(mlir::func::FuncOp function);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_STATISTICUPDATES_H

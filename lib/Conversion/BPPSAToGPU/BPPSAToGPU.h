//===- BPPSAToGPU.h - bufferized operations to launches ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H

#include "../GPULaunches/Launch.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// How many of `ops`, from the first on, are launched together: sums that follow each other and
/// have the same right factor.
size_t countTogether(llvm::ArrayRef<mlir::Operation *> ops);

// Each of these emits, in front of a bufferized operation, the launches and kernels that do
// what it does, as its mapping says. Operations that can fail have reported why.

/// Sums that are mapped to tiles, which follow each other and have the same right factor.
llvm::LogicalResult launchOuterSums(llvm::ArrayRef<OuterSumOp> ops);
/// Whether their outer products are worth tiles of tensor cores, and whether they may be one above
/// the other then.
bool areLargeSums(llvm::ArrayRef<OuterSumOp> ops);
bool canStack(llvm::ArrayRef<OuterSumOp> ops);
/// Loops by several blocks that share the rows of large matrices (CooperativeLoop.h).
llvm::LogicalResult launchCooperatively(RecurrenceOp op, GPUMappingAttr mapping);
llvm::LogicalResult launchCooperatively(const CotangentLoop &loop, GPUMappingAttr mapping);

/// Products of sequences with matrices, for all steps at a time.
llvm::LogicalResult launchProducts(RecurrenceOp op, TensorPrecision precision);
/// Whether a recurrence has nothing but such products, which are worth tiles of tensor cores.
bool areLargeProducts(RecurrenceOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H

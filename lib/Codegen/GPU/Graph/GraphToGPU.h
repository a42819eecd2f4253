//===- GraphToGPU.h - launches of graph operations --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each of these functions emits, before a bufferized operation, launches with the same effect.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H
#define BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// Emits the launch of `op`. Fills before it are folded into the launch and erased.
void launchLinalg(mlir::linalg::LinalgOp op);
/// Returns true if `launchLinalg` of a later operation erases `fill`.
bool isFolded(mlir::linalg::FillOp fill);
void launchCopy(mlir::memref::CopyOp op);
/// Emits independent copies of static shape as one launch before the last copy.
void launchCopies(llvm::ArrayRef<mlir::memref::CopyOp> copies);
void launchParallel(mlir::scf::ParallelOp op);
void launchSequential(mlir::scf::ForOp op);

// Numeric phase of products of explicit sparse Jacobians: one warp per row or weight.

void launchSparseApply(jacobian::SparseApplyOp op);
void launchSparseCompose(jacobian::SparseComposeOp op);
void launchSparseOuterSum(jacobian::SparseOuterSumOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H

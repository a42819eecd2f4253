//===- GraphToGPU.h - launches of what is no loop over time -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each of these emits, in front of a bufferized operation, the launches that do what it does.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H
#define BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

/// The launch of `op`, of which each thread begins with what a fill in front of it would have
/// written: takes these fills out.
void launchLinalg(mlir::linalg::LinalgOp op);
/// Whether `launchLinalg` of what follows takes `fill` out.
bool isFolded(mlir::linalg::FillOp fill);
void launchCopy(mlir::memref::CopyOp op);
/// Copies of static shapes that can be made at the same time, in one launch in front of the last.
void launchCopies(llvm::ArrayRef<mlir::memref::CopyOp> copies);
/// One thread an iteration.
void launchParallel(mlir::scf::ParallelOp op);
/// Iterations in their order: one thread.
void launchSequential(mlir::scf::ForOp op);

// The numeric phase of products of explicit sparse Jacobians: a warp for each row or weight.

void launchSparseApply(jacobian::SparseApplyOp op);
void launchSparseCompose(jacobian::SparseComposeOp op);
void launchSparseOuterSum(jacobian::SparseOuterSumOp op);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_GRAPH_GRAPHTOGPU_H

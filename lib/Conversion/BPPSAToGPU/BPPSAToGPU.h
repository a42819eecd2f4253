//===- BPPSAToGPU.h - bufferized operations to launches ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H

#include "../Bodies/CotangentLoop.h"
#include "bppsa/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {

// Each of these emits, in front of a bufferized operation, the launches that do
// what it does. Operations that can fail have reported why.

/// `precision` is that of products on tensor cores.
llvm::LogicalResult launchRecurrence(RecurrenceOp op, TensorPrecision precision);
/// Sums with the same right factor, which follow each other.
void launchOuterSums(llvm::ArrayRef<OuterSumOp> ops, TensorPrecision precision);
void launchStepSum(StepSumOp op);
void launchLinalg(mlir::linalg::LinalgOp op);
void launchCopy(mlir::memref::CopyOp op);
/// One thread an iteration.
void launchParallel(mlir::scf::ParallelOp op);
/// Iterations in their order: one thread.
void launchSequential(mlir::scf::ForOp op);

/// Loops by several blocks that share the rows of large matrices, where that is possible
/// (CooperativeLoop.h) and one block has not the registers for them; false otherwise.
bool launchOnGrid(RecurrenceOp op);
bool launchOnGrid(const CotangentLoop &loop);

/// Products of sequences with matrices, for all steps at a time; false for other loops, and small
/// products.
bool launchProducts(RecurrenceOp op, TensorPrecision precision);
/// A recurrence, and before it the products of all that it reads, where their matrices are large
/// (cost::takesOutInputs); false where the products stay in its steps.
llvm::FailureOr<bool> launchWithoutInputs(RecurrenceOp op, TensorPrecision precision);

/// The step at position `position` of a loop of `numSteps` steps.
mlir::Value getRecurrenceStep(mlir::OpBuilder &builder, RecurrenceOp op, mlir::Value numSteps,
                              mlir::Value position);

/// A chain in its own order: one block for each sample.
llvm::LogicalResult launchSequentially(const CotangentLoop &loop);
/// Three launches (aggregate, carry, run again) for chunks of `chunkSteps` steps;
/// 0 leaves the length to the run time.
llvm::LogicalResult launchChunked(const CotangentLoop &loop, int64_t chunkSteps,
                                  TensorPrecision precision);

// What `bppsa-expand-scan` makes of trees.

/// The transitions of the runs of links that the iterations of `loop` take: one launch, or two
/// where cotangents are injected.
llvm::LogicalResult launchTransitions(mlir::scf::ForallOp loop, TensorPrecision precision);
/// Products of transitions and copies of vectors, row by row: one launch with a block for each row
/// and, for a parallel loop, iteration. Barriers stand between dependent operations.
llvm::LogicalResult launchRows(mlir::scf::ForallOp loop);
llvm::LogicalResult launchRows(mlir::scf::ForOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_BPPSATOGPU_H

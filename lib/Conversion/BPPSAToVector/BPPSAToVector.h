//===- BPPSAToVector.h - lowering of each packed operation ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H

#include "LaneEmitter.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Steps of a slab: its rows of both operands stay in the second-level cache, and
/// the sums in memory are touched once for so many products.
inline constexpr int64_t kSlabSteps = 32;

/// Steps [first, last) of batch block `block`.
struct LaneSlab {
  mlir::Value block, first, last;
};

/// Each lowers a bufferized, packed operation in front of it; the caller erases
/// it. They fail after a diagnostic.
mlir::LogicalResult lowerRecurrence(RecurrenceOp op, const LaneOptions &options);
/// With `sums` of what the chain emits, which the caller erases too.
mlir::LogicalResult lowerChain(ChainOp op, llvm::ArrayRef<mlir::Operation *> sums,
                               const LaneOptions &options);
mlir::LogicalResult lowerTransition(TransitionOp op, const LaneOptions &options);
void lowerFactoredTransition(FactoredTransitionOp op);
void lowerComposeTransitions(ComposeTransitionsOp op, const LaneOptions &options);
void lowerApplyTransition(ApplyTransitionOp op, const LaneOptions &options);
void lowerOuterSum(OuterSumOp op, const LaneOptions &options);
void lowerStepSum(StepSumOp op, const LaneOptions &options);
void lowerAddToSums(AddToSumsOp op, const LaneOptions &options);
void lowerFinishSums(FinishSumsOp op);
void lowerPackLanes(PackLanesOp op);
/// Lowers copies between parts of arrays under `root` whose last dimension is static.
void lowerCopies(mlir::Operation *root);
void lowerUnpackLanes(UnpackLanesOp op);
void lowerPackChunks(PackChunksOp op);
void lowerUnpackChunks(UnpackChunksOp op);
void lowerSparseApply(jacobian::SparseApplyOp op);
void lowerSparseCompose(jacobian::SparseComposeOp op);
void lowerSparseOuterSum(jacobian::SparseOuterSumOp op);

/// Emits `body(i)` for i in [0, count), on as many threads as there are.
void emitParallel(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Emits `body(i, j)` for i in [0, first), j in [0, second), on as many threads
/// as there are.
void emitParallel(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first,
                  mlir::Value second,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> body);

/// Copies `count` rows.
void emitCopy(mlir::OpBuilder &builder, mlir::Location loc, const Rows &from, const Rows &to,
              int64_t count);

/// Sets `count` rows to zero.
void emitZeroRows(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t count);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H

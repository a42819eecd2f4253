//===- BPPSAToVector.h - lowerings of packed operations ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H

#include "LaneEmitter.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Time steps whose operand rows stay in the L2 cache. Sums in memory are updated once per slab.
inline constexpr int64_t kSlabSteps = 32;

/// Steps [first, last) of a batch block.
struct LaneSlab {
  mlir::Value block, first, last;
};

/// Lower a bufferized, packed operation; the caller erases it. Fail with a diagnostic.
mlir::LogicalResult lowerRecurrence(RecurrenceOp op, const LaneOptions &options);
/// Also computes `sums` of emitted values, which the caller erases.
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
/// Lowers copies between subviews with a static last dimension.
void lowerCopies(mlir::Operation *root);
void lowerUnpackLanes(UnpackLanesOp op);
void lowerPackChunks(PackChunksOp op);
void lowerUnpackChunks(UnpackChunksOp op);
void lowerSparseApply(jacobian::SparseApplyOp op);
void lowerSparseCompose(jacobian::SparseComposeOp op);
void lowerSparseOuterSum(jacobian::SparseOuterSumOp op);

/// Emits a parallel loop of `body(i)` for i in [0, count).
void emitParallel(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Emits a parallel loop of `body(i, j)` for i in [0, first) and j in [0, second).
void emitParallel(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value first,
                  mlir::Value second,
                  llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, mlir::Value)> body);

void emitCopy(mlir::OpBuilder &builder, mlir::Location loc, const Rows &from, const Rows &to,
              int64_t count);

void emitZeroRows(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t count);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_BPPSATOVECTOR_H

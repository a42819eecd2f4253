//===- ParallelLoops.h - parallel loops that are kernels --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// `bppsa-expand-scan` writes a sweep over chunks or leaves as a parallel loop of one operation, on
// windows of whole arrays. A kernel runs all iterations, with indices into these arrays.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H
#define BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// A part of an array `[slots, rows, ...]`: some slots of all rows or of one.
struct ArrayPart {
  mlir::Value array;
  mlir::OpFoldResult firstSlot, numSlots, firstRow;
};

/// What `view` is of its array. Fails after a diagnostic at `op`, which uses it, where it is no
/// such part.
llvm::FailureOr<ArrayPart> getArrayPart(mlir::Operation *op, mlir::Value view);

/// Values of one iteration of a loop, in a kernel.
class IterationValues {
public:
  /// Of the iteration that is `digits` behind the first one. Copies the index arithmetic.
  IterationValues(mlir::OpBuilder &builder, mlir::scf::ForallOp loop, mlir::ValueRange digits);

  mlir::Value get(mlir::OpBuilder &builder, mlir::OpFoldResult value) const;
  /// Copies a view, which may be one of a view.
  mlir::Value copyView(mlir::OpBuilder &builder, mlir::Value view);

private:
  mlir::scf::ForallOp loop;
  mlir::IRMapping mapping;
};

/// The steps and rows that an operation takes, which are the same of all sequences.
class StepWindow {
public:
  explicit StepWindow(mlir::Operation *op) : op(op) {}

  /// Adds the arrays of `views` to `arrays`. Fails after a diagnostic where they are windows of
  /// other steps or rows than those before.
  llvm::LogicalResult add(mlir::ValueRange views, llvm::SmallVectorImpl<mlir::Value> &arrays);
  mlir::OpFoldResult getFirstRow() const { return part->firstRow; }

  /// Positions [first, last) of links.
  struct Positions {
    mlir::Value first, last;
  };
  /// Those of these steps, of which an iteration has `values`, in `loop` over the whole sequences.
  Positions getPositions(mlir::OpBuilder &builder, const CotangentLoop &loop,
                         IterationValues &values) const;

private:
  mlir::Operation *op;
  std::optional<ArrayPart> part;
};

/// The operation that each iteration of `loop` has, beside index arithmetic and views. Null after a
/// diagnostic where there is none or another one.
template <typename OpTy> OpTy getOnlyOp(mlir::scf::ForallOp loop);

/// Emits kernels of the operations of `loop`, one of type OpTy an iteration, as a SweepTy does.
/// Fails after a diagnostic where the iterations have others, or theirs are on no windows.
template <typename OpTy, typename SweepTy>
llvm::LogicalResult convertOnlyOps(mlir::scf::ForallOp loop) {
  OpTy op = getOnlyOp<OpTy>(loop);
  if (!op)
    return llvm::failure();
  SweepTy sweep(loop, op);
  if (failed(sweep.findWindows()))
    return llvm::failure();
  return sweep.convert();
}

/// Iterations of each dimension of `loop`, whose steps are 1.
llvm::SmallVector<mlir::Value> countIterations(mlir::OpBuilder &builder, mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H

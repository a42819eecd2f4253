//===- ParallelLoops.h - parallel loops as kernels --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// `bppsa-expand-scan` emits a sweep over chunks or leaves as a parallel loop around one operation
// on windows of whole arrays.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H
#define BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// Some slots of all rows, or of one row, of an array `[slots, rows, ...]`.
struct ArrayPart {
  mlir::Value array;
  mlir::OpFoldResult firstSlot, numSlots, firstRow;
};

/// Returns the array part that `view` selects. Emits an error at its user `op` if `view` is no such
/// part.
llvm::FailureOr<ArrayPart> getArrayPart(mlir::Operation *op, mlir::Value view);

class IterationValues {
public:
  /// Values of the iteration at offset `digits` from the first.
  IterationValues(mlir::OpBuilder &builder, mlir::scf::ForallOp loop, mlir::ValueRange digits);

  mlir::Value get(mlir::OpBuilder &builder, mlir::OpFoldResult value) const;
  mlir::Value copyView(mlir::OpBuilder &builder, mlir::Value view);

private:
  mlir::scf::ForallOp loop;
  mlir::IRMapping mapping;
};

/// The steps and rows on which an operation works, the same for all sequences.
class StepWindow {
public:
  explicit StepWindow(mlir::Operation *op) : op(op) {}

  llvm::LogicalResult add(mlir::ValueRange views, llvm::SmallVectorImpl<mlir::Value> &arrays);
  mlir::OpFoldResult getFirstRow() const { return part->firstRow; }

  struct Positions {
    mlir::Value first, last;
  };
  /// Returns the positions of these steps in `loop` over the whole sequences, for the iteration of
  /// `values`.
  Positions getPositions(mlir::OpBuilder &builder, const CotangentLoop &loop,
                         IterationValues &values) const;

private:
  mlir::Operation *op;
  std::optional<ArrayPart> part;
};

/// Returns the only operation in an iteration of `loop` besides index arithmetic and views. Emits
/// an error if there is none.
template <typename OpTy> OpTy getOnlyOp(mlir::scf::ForallOp loop);

/// Emits kernels for `loop`, with one OpTy per iteration, by means of a SweepTy. Emits an error if
/// iterations have other operations.
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

llvm::SmallVector<mlir::Value> countIterations(mlir::OpBuilder &builder, mlir::scf::ForallOp loop);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_PARALLELLOOPS_H

//===- LoopLowering.h - lowers a loop in graph form -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Lowers time loops to scf.for over all rows at once, which only carry arrays written slice by
// slice, in place. The loops of a step are too short for several threads, so threads run blocks of
// rows.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

#include "RowBlocks.h"
#include "RowMapper.h"
#include "SteadyStates.h"

namespace bppsa {

class LoopLowering {
public:
  /// `rowBlocks` divides large batches (RowBlocks.h).
  LoopLowering(RecurrenceOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSequences(), op.getInitial(), op.getCaptures(),
                     op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }
  LoopLowering(ChainOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSaved(), op.getSeeds(), op.getCaptures(), op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }

  void lower(RecurrenceOp loop);
  void lower(ChainOp loop);

protected:
  /// Emits the loops for some rows; returns the new arrays and sums. Invariant operations are
  /// hoisted before `outermost`, or before the emitted loop if null.
  using LoopsEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange arrays, mlir::LoopLikeOpInterface outermost)>;
  using IterationEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value iteration, mlir::ValueRange carried, mlir::LoopLikeOpInterface loop)>;
  using Reader = llvm::function_ref<mlir::Value(size_t number)>;
  struct Window {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };

  LoopLowering(mlir::Operation *op, const SteadyStates &steady, mlir::ValueRange sequences,
               mlir::ValueRange states, mlir::ValueRange captures, mlir::Value steps);

  Window getWindow(mlir::Type value, mlir::Value slot, mlir::OpFoldResult firstRow);
  mlir::RankedTensorType getRowsType(mlir::Type value);
  mlir::Value read(mlir::Value array, mlir::Type value, mlir::Value slot,
                   mlir::OpFoldResult firstRow);
  /// Reads the rows of the current block from an array of all rows.
  mlir::Value readInput(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, firstRow);
  }
  /// `values`, `[B, d...]`, is the same in all steps.
  mlir::Value readSteady(mlir::Value values, mlir::Type value);
  mlir::Value readCarried(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, builder.getIndexAttr(0));
  }
  mlir::Value write(mlir::Value rowsOfValue, mlir::Value array, mlir::Type value, mlir::Value slot);
  /// The array is uninitialized, for all rows, with the static sizes of `like`, if given.
  mlir::Value createArray(mlir::Type value, mlir::Value numSlots,
                          mlir::RankedTensorType like = nullptr);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value subtract(mlir::Value lhs, mlir::Value rhs);

  struct CarriedResults {
    /// Results stored as arrays over time, and states stored for one step.
    llvm::SmallVector<unsigned> whole, transient;
    llvm::SmallVector<WrittenByRows> arrays;
    /// Only sizes are read from replacements of results not in `whole`.
    llvm::SmallVector<mlir::Value> replacements;
  };

  CarriedResults createResultArrays(RecurrenceOp loop);
  llvm::SmallVector<mlir::Value> emitStep(RecurrenceOp loop, const CarriedResults &carried,
                                          RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays);
  mlir::Value createStart(mlir::Value initial, mlir::Type value);
  /// Copies `states` into `arrays`, which hold their values before the step and are dead
  /// afterwards.
  llvm::SmallVector<mlir::Value> copyStatesInPlace(mlir::ValueRange states,
                                                   mlir::ValueRange arrays);

  llvm::SmallVector<WrittenByRows> createChainArrays(ChainOp chain);
  llvm::SmallVector<mlir::Value> emitLink(ChainOp chain, RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays, Reader readSaved);
  void emitCell(RecurrenceOp loop, RowMapper &mapper, mlir::Value step, Reader readState);

  llvm::SmallVector<mlir::Value> createBlocks(llvm::ArrayRef<WrittenByRows> arrays,
                                              mlir::TypeRange sumTypes, LoopsEmitter emit);
  llvm::SmallVector<mlir::Value> createFor(mlir::Value count, mlir::ValueRange carried,
                                           IterationEmitter emit);
  llvm::SmallVector<mlir::Value> createStepLoop(
      mlir::Value count, mlir::ValueRange carried, mlir::LoopLikeOpInterface outermost,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(RowMapper &, mlir::Value, mlir::ValueRange)>
          emit);
  void replace(mlir::Operation *loop, mlir::ValueRange results);

  mlir::Operation *op;
  const SteadyStates &steady;
  mlir::Location loc;
  mlir::OpBuilder builder;
  int64_t rowsOfBlock;
  bool rowBlocks = true;
  /// Rows of the current block, or all rows; index of the first.
  mlir::OpFoldResult rows, firstRow;
  mlir::Value numSteps, zero, one;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

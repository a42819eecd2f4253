//===- LoopLowering.h - lowers a loop in graph form -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Time becomes an scf.for whose body is emitted for all rows at once. The loop only carries arrays
// that it writes slice by slice: a state is read from its trajectory, so that bufferization can
// perform all writes in place. States of which only the final value is read are copied at the end
// of a step (TransientStates.h). Around this loop, threads run blocks of rows in parallel, because
// the individual loops of a step are too short for several threads.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

#include "RowBlocks.h"
#include "RowMapper.h"
#include "SteadyStates.h"

namespace bppsa {

/// Emits the code of one loop in graph form before the loop.
class LoopLowering {
public:
  /// With `rowBlocks`, larger batches are divided into blocks of rows (RowBlocks.h).
  LoopLowering(RecurrenceOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSequences(), op.getInitial(), op.getCaptures(),
                     op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }
  LoopLowering(ChainOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSaved(), op.getSeeds(), op.getCaptures(), op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }

  /// Replaces `loop`, the operation passed to the constructor.
  void lower(RecurrenceOp loop);
  void lower(ChainOp loop);

protected:
  /// Emits the loops for all rows or a block of rows, given its arrays and sums, and returns their
  /// new values. Operations that do not depend on rows and steps are hoisted before `outermost` or,
  /// if it is null, before the emitted loop.
  using LoopsEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange arrays, mlir::LoopLikeOpInterface outermost)>;
  /// Emits one iteration and returns the new values of `carried`.
  using IterationEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value iteration, mlir::ValueRange carried, mlir::LoopLikeOpInterface loop)>;
  /// Returns the value that the link or cell reads from array `number` in the current step.
  using Reader = llvm::function_ref<mlir::Value(size_t number)>;
  struct Window {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };

  LoopLowering(mlir::Operation *op, const SteadyStates &steady, mlir::ValueRange sequences,
               mlir::ValueRange states, mlir::ValueRange captures, mlir::Value steps);

  /// Returns slot `slot` of an array over time of values of type `value`, from row `firstRow` on.
  Window getWindow(mlir::Type value, mlir::Value slot, mlir::OpFoldResult firstRow);
  mlir::RankedTensorType getRowsType(mlir::Type value);
  mlir::Value read(mlir::Value array, mlir::Type value, mlir::Value slot,
                   mlir::OpFoldResult firstRow);
  /// Reads the rows of the current block from an array of all rows.
  mlir::Value readInput(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, firstRow);
  }
  /// Reads the rows of the current block from `values`, `[B, d...]`, which is the same in all
  /// steps.
  mlir::Value readSteady(mlir::Value values, mlir::Type value);
  /// Reads from an array that holds only the rows of the current block.
  mlir::Value readCarried(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, builder.getIndexAttr(0));
  }
  mlir::Value write(mlir::Value rowsOfValue, mlir::Value array, mlir::Type value, mlir::Value slot);
  /// Creates an uninitialized array of `numSlots` slots of values of type `value`, for all rows.
  /// Uses the static sizes of `like`, if given.
  mlir::Value createArray(mlir::Type value, mlir::Value numSlots,
                          mlir::RankedTensorType like = nullptr);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value subtract(mlir::Value lhs, mlir::Value rhs);

  /// The arrays that the lowered loop carries for the results of a recurrence.
  struct CarriedResults {
    /// Results stored as arrays over time, and states stored for one step only.
    llvm::SmallVector<unsigned> whole, transient;
    llvm::SmallVector<WrittenByRows> arrays;
    /// For each result, the array that replaces it. Only sizes are read from arrays that are not in
    /// `whole`.
    llvm::SmallVector<mlir::Value> replacements;
  };

  CarriedResults createResultArrays(RecurrenceOp loop);
  /// Emits one step of `loop` on the carried `arrays` and returns their new values.
  llvm::SmallVector<mlir::Value> emitStep(RecurrenceOp loop, const CarriedResults &carried,
                                          RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays);
  /// Casts `initial`, `[B, d...]`, to the type of a state that is carried without a time axis.
  mlir::Value createStart(mlir::Value initial, mlir::Type value);
  /// Copies `states` into `arrays`, which hold their values before the step and are dead
  /// afterwards.
  llvm::SmallVector<mlir::Value> copyStatesInPlace(mlir::ValueRange states,
                                                   mlir::ValueRange arrays);

  /// Returns the arrays that `chain` carries: cotangents of states, then emitted sequences.
  llvm::SmallVector<WrittenByRows> createChainArrays(ChainOp chain);
  /// Emits the link for the rows of step `step`, reading saved values with `readSaved`.
  llvm::SmallVector<mlir::Value> emitLink(ChainOp chain, RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays, Reader readSaved);
  void emitCell(RecurrenceOp loop, RowMapper &mapper, mlir::Value step, Reader readState);

  /// Calls `emit` once for all rows, or in a parallel loop over blocks of rows.
  llvm::SmallVector<mlir::Value> createBlocks(llvm::ArrayRef<WrittenByRows> arrays,
                                              mlir::TypeRange sumTypes, LoopsEmitter emit);
  llvm::SmallVector<mlir::Value> createFor(mlir::Value count, mlir::ValueRange carried,
                                           IterationEmitter emit);
  /// Creates a loop over `count` steps. Hoists operations that do not depend on rows and steps
  /// before `outermost`.
  llvm::SmallVector<mlir::Value> createStepLoop(
      mlir::Value count, mlir::ValueRange carried, mlir::LoopLikeOpInterface outermost,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(RowMapper &, mlir::Value, mlir::ValueRange)>
          emit);
  /// Replaces `loop` with `results`, which may differ in static sizes.
  void replace(mlir::Operation *loop, mlir::ValueRange results);

  mlir::Operation *op;
  const SteadyStates &steady;
  mlir::Location loc;
  mlir::OpBuilder builder;
  int64_t rowsOfBlock;
  bool rowBlocks = true;
  /// The number of rows of the current block, and the index of its first row. Without blocks, these
  /// are all rows.
  mlir::OpFoldResult rows, firstRow;
  mlir::Value numSteps, zero, one;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

//===- LoopLowering.h - one loop in graph form as scf.for -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Time becomes scf.for, and the body is written for all rows at once. The loop carries nothing but
// arrays that it writes in slices: a state is read from its trajectory, so that bufferization finds
// every write in place. States of which only the last is read are copied over at the end of a step
// (TransientStates.h). Around the loop rows are taken in blocks, which threads share: the steps of
// a graph are many short loops, none of which is worth a second thread.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

#include "RowBlocks.h"
#include "RowMapper.h"
#include "SteadyStates.h"

namespace bppsa {

/// Writes the code of one loop in graph form in front of it.
class LoopLowering {
public:
  /// With `rowBlocks`, batches of more rows than a block has are taken in blocks (RowBlocks.h).
  LoopLowering(RecurrenceOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSequences(), op.getInitial(), op.getCaptures(),
                     op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }
  LoopLowering(ChainOp op, const SteadyStates &steady, bool rowBlocks)
      : LoopLowering(op, steady, op.getSaved(), op.getSeeds(), op.getCaptures(), op.getSteps()) {
    this->rowBlocks = rowBlocks;
  }

  /// Replaces `loop`, the op that this was made of.
  void lower(RecurrenceOp loop);
  void lower(ChainOp loop);

protected:
  /// Writes what a loop does with its arrays and sums, of all rows or of a block of them, and
  /// returns what becomes of them. What all rows and steps share goes in front of `outermost`;
  /// where that is null, in front of the loop that is written.
  using LoopsEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::ValueRange arrays, mlir::LoopLikeOpInterface outermost)>;
  /// Writes one iteration: what the loop carries, before it and after it.
  using IterationEmitter = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value iteration, mlir::ValueRange carried, mlir::LoopLikeOpInterface loop)>;
  /// What link or cell reads of an array over time at the step that is written.
  using Reader = llvm::function_ref<mlir::Value(size_t number)>;
  struct Window {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };

  LoopLowering(mlir::Operation *op, const SteadyStates &steady, mlir::ValueRange sequences,
               mlir::ValueRange states, mlir::ValueRange captures, mlir::Value steps);

  /// Slot `slot` of an array over time of values of type `value`, from row `firstRow` on.
  Window getWindow(mlir::Type value, mlir::Value slot, mlir::OpFoldResult firstRow);
  mlir::RankedTensorType getRowsType(mlir::Type value);
  mlir::Value read(mlir::Value array, mlir::Type value, mlir::Value slot,
                   mlir::OpFoldResult firstRow);
  /// The rows of the block in an array that holds all of them.
  mlir::Value readInput(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, firstRow);
  }
  /// The rows of the block in `values`, `[B, d...]`, which no step changes.
  mlir::Value readSteady(mlir::Value values, mlir::Type value);
  /// The rows in an array that holds no others.
  mlir::Value readCarried(mlir::Value array, mlir::Type value, mlir::Value slot) {
    return read(array, value, slot, builder.getIndexAttr(0));
  }
  mlir::Value write(mlir::Value rowsOfValue, mlir::Value array, mlir::Type value, mlir::Value slot);
  /// An uninitialised array of values of type `value` for `numSlots` slots and all rows; of the
  /// sizes that `like` knows, where given.
  mlir::Value createArray(mlir::Type value, mlir::Value numSlots,
                          mlir::RankedTensorType like = nullptr);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value subtract(mlir::Value lhs, mlir::Value rhs);

  /// What the lowered loop carries for the results of a recurrence.
  struct CarriedResults {
    /// Results that are arrays over time, then states that are kept for one step only.
    llvm::SmallVector<unsigned> whole, transient;
    llvm::SmallVector<WrittenByRows> arrays;
    /// For each result the array that replaces it; of those that are not whole only sizes are read.
    llvm::SmallVector<mlir::Value> replacements;
  };

  CarriedResults createResultArrays(RecurrenceOp loop);
  /// Writes one step of `loop` on the arrays that it carries, and returns what becomes of them.
  llvm::SmallVector<mlir::Value> emitStep(RecurrenceOp loop, const CarriedResults &carried,
                                          RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays);
  /// `initial`, `[B, d...]`, as the array of a state of type `value` that is carried without time.
  mlir::Value createStart(mlir::Value initial, mlir::Type value);
  /// Copies `states` into the `arrays` that held them before the step, which nothing may read
  /// after.
  llvm::SmallVector<mlir::Value> carryOn(mlir::ValueRange states, mlir::ValueRange arrays);

  /// The arrays that `chain` carries: cotangents of states, then what it emits.
  llvm::SmallVector<WrittenByRows> createChainArrays(ChainOp chain);
  /// Writes the link on the rows of step `step`, of which it saved what `readSaved` gives.
  llvm::SmallVector<mlir::Value> emitLink(ChainOp chain, RowMapper &mapper, mlir::Value step,
                                          mlir::ValueRange arrays, Reader readSaved);
  /// Writes the cell on the rows of step `step`: what it yields.
  void emitCell(RecurrenceOp loop, RowMapper &mapper, mlir::Value step, Reader readState);

  /// What `emit` writes, once for each block of rows where there is more than one.
  llvm::SmallVector<mlir::Value> createBlocks(llvm::ArrayRef<WrittenByRows> arrays,
                                              mlir::TypeRange sumTypes, LoopsEmitter emit);
  /// `scf.for` from 0 to `count`.
  llvm::SmallVector<mlir::Value> createFor(mlir::Value count, mlir::ValueRange carried,
                                           IterationEmitter emit);
  /// A loop over `count` steps, with what rows and steps share in front of `outermost`.
  llvm::SmallVector<mlir::Value> createStepLoop(
      mlir::Value count, mlir::ValueRange carried, mlir::LoopLikeOpInterface outermost,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(RowMapper &, mlir::Value, mlir::ValueRange)>
          emit);
  /// Replaces `loop` by `results`, which may have other static sizes.
  void replace(mlir::Operation *loop, mlir::ValueRange results);

  mlir::Operation *op;
  const SteadyStates &steady;
  mlir::Location loc;
  mlir::OpBuilder builder;
  int64_t rowsOfBlock;
  bool rowBlocks = true;
  /// The rows of the block that is written, and the first of them; all where there are no blocks.
  mlir::OpFoldResult rows, firstRow;
  mlir::Value numSteps, zero, one;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_LOOPLOWERING_H

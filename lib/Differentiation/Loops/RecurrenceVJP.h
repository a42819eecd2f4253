//===- RecurrenceVJP.h - the differentiation rule of a time loop -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LOOPS_RECURRENCEVJP_H
#define BPPSA_LIB_DIFFERENTIATION_LOOPS_RECURRENCEVJP_H

#include "bppsa/Differentiation/Differentiation.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// The rule of `bppsa.recurrence` (see VJPOpInterface): a chain whose link is
/// the transposed Jacobian of the cell, and sums over steps and samples for
/// what the cell captures. Replaces `op` by one that also saves activations.
llvm::LogicalResult differentiateRecurrence(RecurrenceOp op, mlir::OpBuilder &builder,
                                            mlir::ValueRange resultCotangents,
                                            llvm::ArrayRef<bool> needed,
                                            llvm::MutableArrayRef<mlir::Value> operandCotangents);

/// The rule of a loop in graph form: a chain in graph form, whose link is what the reverse sweep
/// through the body makes. It emits cotangents of sequences and sums those of captures.
llvm::LogicalResult differentiateGraphRecurrence(RecurrenceOp op, mlir::OpBuilder &builder,
                                                 mlir::ValueRange resultCotangents,
                                                 llvm::ArrayRef<bool> needed,
                                                 llvm::MutableArrayRef<mlir::Value> cotangents);

/// What changes in the body of `op` with the operands that are `needed`: a state does where its
/// value after the step does.
Activity propagateCellActivity(RecurrenceOp op, llvm::ArrayRef<bool> needed);

/// What the cotangent `[T+1, B, N]` of a trajectory means for the chain. Null
/// where it is zero.
struct StateCotangent {
  /// Of the final state, `[B, N]`.
  mlir::Value seed;
  /// Of the state after every step, `[T, B, N]`.
  mlir::Value injected;
  /// Of the initial state, `[B, N]`.
  mlir::Value initial;
};

/// Splits the cotangent of the trajectory of state `state`. No array over time
/// is built where it is known that only single slots are not zero.
StateCotangent splitTrajectoryCotangent(RecurrenceOp op, unsigned state, mlir::Value cotangent,
                                        mlir::OpBuilder &builder);

/// The trajectory slots of the state before every step, or after it: a slice
/// `[T, B, N]`.
mlir::Value createTrajectorySlice(RecurrenceOp op, unsigned state, bool afterStep,
                                  mlir::OpBuilder &builder);

/// The vector-Jacobian product of a cell for one sample and one step, in a
/// block of its own: a copy of the cell, and the ops of the reverse sweep.
class CellVJP {
public:
  /// A product of a captured matrix, with the cotangent of its result.
  struct MatrixUse {
    unsigned argument;
    mlir::Value vector;
    mlir::Value cotangent;
    bool transposed;
  };

  /// Differentiates the cell of `op` with respect to the operands that are
  /// `needed`; `hasCotangent` says which results have one. Fails after an
  /// error.
  llvm::LogicalResult build(RecurrenceOp op, llvm::ArrayRef<bool> needed,
                            llvm::ArrayRef<bool> hasCotangent);

  mlir::Block &getBlock() { return block; }

  /// The results of the cell that have a cotangent, and the block arguments
  /// that hold those cotangents. States come first.
  llvm::ArrayRef<unsigned> getResults() const { return results; }
  mlir::Value getResultCotangent(unsigned i) const { return resultCotangents[i]; }

  /// The cotangent of an argument of the cell that is not a matrix; null where
  /// it is zero.
  mlir::Value getArgumentCotangent(unsigned argument) const { return argumentCotangents[argument]; }
  llvm::ArrayRef<MatrixUse> getMatrixUses() const { return matrixUses; }

  /// Whether `value` depends on a cotangent.
  bool isCotangent(mlir::Value value) const { return cotangents.contains(value); }

  /// The value of the cell that `value` is a copy of; null if there is none.
  mlir::Value getPrimal(mlir::Value value) const { return primal.lookup(value); }

private:
  llvm::LogicalResult sweep(RecurrenceOp op, const Activity &cellActivity);

  mlir::Block block;
  llvm::SmallVector<unsigned> results;
  llvm::SmallVector<mlir::Value> resultCotangents, argumentCotangents;
  llvm::SmallVector<MatrixUse> matrixUses;
  llvm::DenseSet<mlir::Value> cotangents;
  llvm::DenseMap<mlir::Value, mlir::Value> primal;
};

/// The ops that one time loop needs to compute some values of a CellVJP.
class LoopPart {
public:
  /// Collects what `outputs` depend on, up to the values that `isInput`.
  LoopPart(llvm::ArrayRef<mlir::Value> outputs, llvm::function_ref<bool(mlir::Value)> isInput,
           llvm::function_ref<bool(mlir::Value)> isCapture);

  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs.getArrayRef(); }
  llvm::ArrayRef<mlir::Value> getCaptures() const { return captures.getArrayRef(); }
  bool contains(mlir::Operation *op) const { return ops.contains(op); }

  /// Copies the ops of `source` that belong to this part to the end of `body`,
  /// ends it with a yield of `outputs`. `mapping` holds the inputs and captures.
  void emit(mlir::Block &source, mlir::Block &body, llvm::ArrayRef<mlir::Value> outputs,
            mlir::IRMapping &mapping) const;

private:
  llvm::SetVector<mlir::Value> inputs, captures;
  llvm::SetVector<mlir::Operation *> ops;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_LOOPS_RECURRENCEVJP_H

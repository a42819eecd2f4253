//===- RecurrenceVJP.h - the VJP of a time loop -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_LOOPS_RECURRENCEVJP_H
#define BPPSA_LIB_DIFFERENTIATION_LOOPS_RECURRENCEVJP_H

#include "bppsa/Differentiation/Differentiation.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// The rule of `bppsa.recurrence` (see VJPOpInterface). Creates a chain whose link is the
/// transposed Jacobian of the cell, and replaces `op` by a recurrence that also saves activations.
llvm::LogicalResult differentiateRecurrence(RecurrenceOp op, mlir::OpBuilder &builder,
                                            mlir::ValueRange resultCotangents,
                                            llvm::ArrayRef<bool> needed,
                                            llvm::MutableArrayRef<mlir::Value> operandCotangents);

/// The rule of a recurrence in graph form. Creates a chain in graph form whose link is the reverse
/// sweep through the body.
llvm::LogicalResult differentiateGraphRecurrence(RecurrenceOp op, mlir::OpBuilder &builder,
                                                 mlir::ValueRange resultCotangents,
                                                 llvm::ArrayRef<bool> needed,
                                                 llvm::MutableArrayRef<mlir::Value> cotangents);

/// Returns the values in the body of `op` that depend on the `needed` operands.
Activity propagateCellActivity(RecurrenceOp op, llvm::ArrayRef<bool> needed);

/// The parts of the cotangent `[T+1, B, N]` of a trajectory. A part is null if it is zero.
struct StateCotangent {
  /// Cotangent of the final state, `[B, N]`.
  mlir::Value seed;
  /// Cotangent of the state after every step, `[T, B, N]`.
  mlir::Value injected;
  /// Cotangent of the initial state, `[B, N]`.
  mlir::Value initial;
};

/// Splits the cotangent of a trajectory. If only single slots are nonzero, no array over time is
/// built.
StateCotangent splitTrajectoryCotangent(RecurrenceOp op, unsigned state, mlir::Value cotangent,
                                        mlir::OpBuilder &builder);

/// Returns the slice `[T, B, N]` of the trajectory that holds the state before (or after) every
/// step.
mlir::Value createTrajectorySlice(RecurrenceOp op, unsigned state, bool afterStep,
                                  mlir::OpBuilder &builder);

/// The VJP of a cell for one sample and step: a copy of the cell, then the reverse sweep.
class CellVJP {
public:
  /// A product with a captured matrix, and the cotangent of its result.
  struct MatrixUse {
    unsigned argument;
    mlir::Value vector;
    mlir::Value cotangent;
    bool transposed;
  };

  /// Differentiates the cell of `op` with respect to the `needed` operands.
  llvm::LogicalResult build(RecurrenceOp op, llvm::ArrayRef<bool> needed,
                            llvm::ArrayRef<bool> hasCotangent);

  mlir::Block &getBlock() { return block; }

  /// Returns the results of the cell that have a cotangent, states first.
  llvm::ArrayRef<unsigned> getResults() const { return results; }
  mlir::Value getResultCotangent(unsigned i) const { return resultCotangents[i]; }

  /// Returns null for a zero cotangent.
  mlir::Value getArgumentCotangent(unsigned argument) const { return argumentCotangents[argument]; }
  llvm::ArrayRef<MatrixUse> getMatrixUses() const { return matrixUses; }

  bool isCotangent(mlir::Value value) const { return cotangents.contains(value); }

  /// Returns the value of the cell that `value` is a copy of, or null.
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

/// The ops of a CellVJP that one time loop needs to compute some of its values.
class LoopPart {
public:
  LoopPart(llvm::ArrayRef<mlir::Value> outputs, llvm::function_ref<bool(mlir::Value)> isInput,
           llvm::function_ref<bool(mlir::Value)> isCapture);

  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs.getArrayRef(); }
  llvm::ArrayRef<mlir::Value> getCaptures() const { return captures.getArrayRef(); }
  bool contains(mlir::Operation *op) const { return ops.contains(op); }

  /// Clones the ops to the end of `body` and adds a yield of `outputs`.
  void emit(mlir::Block &source, mlir::Block &body, llvm::ArrayRef<mlir::Value> outputs,
            mlir::IRMapping &mapping) const;

private:
  llvm::SetVector<mlir::Value> inputs, captures;
  llvm::SetVector<mlir::Operation *> ops;
};

} // namespace bppsa

#endif

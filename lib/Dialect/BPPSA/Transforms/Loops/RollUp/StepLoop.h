//===- StepLoop.h - a recurrence of matched steps ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPLOOP_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPLOOP_H

#include "StepMatcher.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

mlir::Value createTransposed(mlir::OpBuilder &builder, mlir::Value value,
                             llvm::ArrayRef<int64_t> order);

/// Dimension 0, which is reversed, must have a static size.
mlir::Value createFlipped(mlir::OpBuilder &builder, mlir::Value value);

/// Creates a graph-form recurrence from the steps of a `StepMatcher`. Dimension 0 of values that
/// differ between samples is the row.
class StepLoop {
public:
  StepLoop(mlir::OpBuilder &builder, mlir::Location loc, const StepMatcher &steps,
           mlir::OpFoldResult rows);

  /// Adds a tuple read outside the steps; fails if the loop cannot compute it.
  mlir::LogicalResult addOutput(unsigned tuple);
  /// Fails if a step treats samples differently; created operations are then unused.
  mlir::FailureOr<RecurrenceOp> finish();
  /// Returns `[steps, rows, d...]`; call after `finish`.
  mlir::Value getOutput(unsigned tuple) const { return outputs.lookup(tuple); }
  int64_t getSlot(unsigned step) const;

private:
  using Emitted = mlir::FailureOr<mlir::Value>;
  /// Without `hasRows`, all samples share the value.
  Emitted emit(unsigned tuple, bool hasRows);
  Emitted emitNew(unsigned tuple, bool hasRows);
  Emitted emitCapture(mlir::Value value, bool hasRows);
  Emitted emitSequence(unsigned tuple, bool hasRows);
  Emitted emitScalars(unsigned tuple, mlir::linalg::GenericOp generic);
  bool isScalarSequence(unsigned tuple) const;
  mlir::Value addSequence(mlir::Value array, mlir::RankedTensorType type);
  mlir::Value repeatForRows(mlir::Value array, llvm::ArrayRef<int64_t> shape);
  Emitted emitOp(unsigned tuple, bool hasRows);
  Emitted emitGeneric(const StepTuple &tuple, bool hasRows);
  Emitted emitSlice(const StepTuple &tuple, bool hasRows);
  Emitted emitReshape(const StepTuple &tuple, bool hasRows);
  /// Returns `[steps, d...]`, outside the loop.
  Emitted stack(unsigned tuple);
  mlir::Value stackSlices(const StepSlices &slices, mlir::RankedTensorType type);
  mlir::Value stackValues(llvm::ArrayRef<mlir::Value> values);
  Emitted stackGeneric(const StepTuple &tuple);
  bool isStackedOutside(unsigned tuple) const;
  void chooseDirection();

  /// Returns null if the shape is not static.
  mlir::RankedTensorType getBodyType(mlir::Type type, bool hasRows) const;
  bool countsRows(mlir::OpFoldResult size) const;
  mlir::Value addArgument(unsigned position, mlir::RankedTensorType type);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const StepMatcher &steps;
  mlir::OpFoldResult rows;
  mlir::Region region;
  mlir::Block *body;
  mlir::OpBuilder inner;
  bool isReverse = false;
  llvm::SmallVector<mlir::Value> sequences, initial, captures;
  /// Argument of each state and tuple of its next value; nullopt if it never changes.
  llvm::SmallVector<std::pair<mlir::Value, std::optional<unsigned>>> states;
  llvm::SmallVector<unsigned> outputTuples;
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> emitted;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> emittedCaptures;
  llvm::DenseMap<unsigned, mlir::Value> outputs;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPLOOP_H

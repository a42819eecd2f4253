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

/// `value` with its dimensions in the order `order`.
mlir::Value createTransposed(mlir::OpBuilder &builder, mlir::Value value,
                             llvm::ArrayRef<int64_t> order);

/// `value` with dimension 0, of static size, in reverse order.
mlir::Value createFlipped(mlir::OpBuilder &builder, mlir::Value value);

/// Makes a `bppsa.recurrence` in graph form of the steps of a `StepMatcher`. Dimension 0 of what
/// differs from sample to sample counts the samples, the rows of the loop.
class StepLoop {
public:
  /// Operations outside of the body are made by `builder`; `rows` is the number of samples.
  StepLoop(mlir::OpBuilder &builder, mlir::Location loc, const StepMatcher &steps,
           mlir::OpFoldResult rows);

  /// Adds a tuple of which something outside of the steps reads values. Fails where the loop cannot
  /// make it.
  mlir::LogicalResult addOutput(unsigned tuple);
  /// Makes the loop. Fails, without a trace that is used, where a step does not treat samples
  /// alike.
  mlir::FailureOr<RecurrenceOp> finish();
  /// The values of an output, `[steps, rows, d...]`, once the loop is made.
  mlir::Value getOutput(unsigned tuple) const { return outputs.lookup(tuple); }
  /// Where the value of `step` stands in an output.
  int64_t getSlot(unsigned step) const;

private:
  using Emitted = mlir::FailureOr<mlir::Value>;
  /// The value of a tuple in the body; without rows it is one that all samples share.
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
  /// All steps of a sequence, `[steps, d...]`, outside of the loop.
  Emitted stack(unsigned tuple);
  mlir::Value stackSlices(const StepSlices &slices, mlir::RankedTensorType type);
  mlir::Value stackValues(llvm::ArrayRef<mlir::Value> values);
  Emitted stackGeneric(const StepTuple &tuple);
  bool isStackedOutside(unsigned tuple) const;
  void chooseDirection();

  /// The type in the body; null where there is none of static sizes.
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
  /// What each state becomes; null for one that stays.
  llvm::SmallVector<std::pair<mlir::Value, std::optional<unsigned>>> states;
  llvm::SmallVector<unsigned> outputTuples;
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> emitted;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> emittedCaptures;
  llvm::DenseMap<unsigned, mlir::Value> outputs;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPLOOP_H

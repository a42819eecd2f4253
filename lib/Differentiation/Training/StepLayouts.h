//===- StepLayouts.h - layouts of values in time shards ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIFFERENTIATION_TRAINING_STEPLAYOUTS_H
#define BPPSA_LIB_DIFFERENTIATION_TRAINING_STEPLAYOUTS_H

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// The part of a value held by a rank that owns a shard of the time steps.
struct StepLayout {
  enum class Kind {
    /// The whole value, as on every other rank.
    Whole,
    /// The shard along `axis`, the time axis.
    Steps,
    /// The states before and after the steps of the shard along `axis`.
    Slots,
    /// The value of the model on the rank with the last steps; on other ranks, the corresponding
    /// value of their shard.
    Last,
  };

  Kind kind = Kind::Whole;
  int64_t axis = 0;

  bool isCut() const { return kind == Kind::Steps || kind == Kind::Slots; }
  bool operator==(const StepLayout &other) const {
    return kind == other.kind && (!isCut() || axis == other.axis);
  }
};

/// Finds the layout of each value when time axes are sharded, and the values that ranks must
/// exchange.
class StepLayouts {
public:
  explicit StepLayouts(mlir::func::FuncOp function) : function(function), dependences(function) {}

  /// Accepts loops over time, slices of the first or last step, and sums over steps; emits an error
  /// otherwise.
  mlir::LogicalResult run();

  mlir::ArrayRef<RecurrenceOp> getLoops() const { return loops; }
  /// Returns values computed from the first step only; the rank with the last steps needs them.
  mlir::ArrayRef<mlir::Value> getFirstStepValues() const { return ofFirstStep; }
  /// Sums over the steps of a shard, to be added over ranks.
  mlir::ArrayRef<mlir::Value> getSums() const { return sums; }
  /// Returns the ops that compute a time step index, which is relative to the shard.
  mlir::ArrayRef<mlir::linalg::IndexOp> getStepIndices() const { return stepNumbers; }
  /// Returns operands that hold the number of steps of the shard in place of the total number of
  /// steps.
  mlir::ArrayRef<mlir::OpOperand *> getStepCounts() const { return stepCounts; }

private:
  StepLayout get(mlir::Value value) const { return layouts.lookup(value); }
  bool isStepSize(mlir::Value value) const { return stepSizes.contains(value); }
  mlir::AffineExpr getExtent(StepLayout layout) const {
    return layout.kind == StepLayout::Kind::Slots ? steps + 1 : steps;
  }

  mlir::LogicalResult findSteps();
  mlir::LogicalResult visitArgument(unsigned number);
  mlir::LogicalResult verifyLosses();
  mlir::LogicalResult visit(mlir::Operation *op);
  void visitSized(mlir::Value value);
  mlir::LogicalResult visitSlice(mlir::tensor::ExtractSliceOp op);
  mlir::LogicalResult visitInsertion(mlir::tensor::InsertSliceOp op);
  mlir::LogicalResult visitConcat(mlir::tensor::ConcatOp op);
  mlir::LogicalResult visitCollapse(mlir::tensor::CollapseShapeOp op);
  mlir::LogicalResult visitExpand(mlir::tensor::ExpandShapeOp op);
  mlir::LogicalResult visitLoop(RecurrenceOp op);
  mlir::LogicalResult visitLinalg(mlir::linalg::LinalgOp op);
  mlir::LogicalResult visitSum(mlir::linalg::LinalgOp op);
  mlir::LogicalResult noteStepCounts(mlir::Operation *op, mlir::Value count);
  mlir::LogicalResult visitScalar(mlir::Operation *op);
  mlir::LogicalResult visitOther(mlir::Operation *op);

  mlir::func::FuncOp function;
  Dependences dependences;
  mutable SymbolicSizes sizes;
  mlir::AffineExpr steps;
  llvm::DenseMap<mlir::Value, StepLayout> layouts;
  llvm::DenseSet<mlir::Value> stepSizes;
  llvm::SmallVector<RecurrenceOp> loops;
  llvm::SmallVector<mlir::Value> ofFirstStep, sums;
  llvm::SmallVector<mlir::linalg::IndexOp> stepNumbers;
  llvm::SmallVector<mlir::OpOperand *> stepCounts;
};

mlir::LogicalResult refuseToShare(mlir::Operation *op, const llvm::Twine &what);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_STEPLAYOUTS_H

//===- StepLayouts.h - where the steps of a share are -----------*- C++ -*-===//
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

/// What a rank with a share of the steps has of a value.
struct StepLayout {
  enum class Kind {
    /// All of it, as every other rank.
    Whole,
    /// The share along `axis`, which carries the steps.
    Steps,
    /// The states before and behind the steps of the share along `axis`, one more than there are.
    Slots,
    /// On the rank with the last steps what the model means; elsewhere the same of the share.
    Last,
  };

  Kind kind = Kind::Whole;
  int64_t axis = 0;

  bool isCut() const { return kind == Kind::Steps || kind == Kind::Slots; }
  bool operator==(const StepLayout &other) const {
    return kind == other.kind && (!isCut() || axis == other.axis);
  }
};

/// Finds, by data flow, what a rank has of the values of a function of losses when the axes that
/// carry steps are cut, and what has to go from rank to rank for that.
class StepLayouts {
public:
  explicit StepLayouts(mlir::func::FuncOp function) : function(function), dependences(function) {}

  /// Fails, after an error that names the operation, where an operation mixes steps in another way
  /// than by a loop over time, by what it takes of the first or last step, or by a sum over steps.
  mlir::LogicalResult run();

  /// Loops over the steps, in order.
  mlir::ArrayRef<RecurrenceOp> getLoops() const { return loops; }
  /// What the first step alone makes; the rank with the last steps needs it.
  mlir::ArrayRef<mlir::Value> getOfFirstStep() const { return ofFirstStep; }
  /// Sums over the steps of a share, of which the sum over all steps is the sum.
  mlir::ArrayRef<mlir::Value> getSums() const { return sums; }
  /// What reads the number of a step, which is that of the share.
  mlir::ArrayRef<mlir::linalg::IndexOp> getStepNumbers() const { return stepNumbers; }
  /// Operands that are the number of steps of the share in place of that of all steps.
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
  /// The number of all steps.
  mlir::AffineExpr steps;
  llvm::DenseMap<mlir::Value, StepLayout> layouts;
  /// Index values that follow from the number of steps of the share.
  llvm::DenseSet<mlir::Value> stepSizes;
  llvm::SmallVector<RecurrenceOp> loops;
  llvm::SmallVector<mlir::Value> ofFirstStep, sums;
  llvm::SmallVector<mlir::linalg::IndexOp> stepNumbers;
  llvm::SmallVector<mlir::OpOperand *> stepCounts;
};

/// Fails with an error that names the node of `op`, says what it does with steps and what ranks
/// need.
mlir::LogicalResult refuseToShare(mlir::Operation *op, const llvm::Twine &what);

} // namespace bppsa

#endif // BPPSA_LIB_DIFFERENTIATION_TRAINING_STEPLAYOUTS_H

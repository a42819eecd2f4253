//===- GraphStructure.cpp - structure of the operations of a graph --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/Structure/JacobianStructure.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

/// The dimension of samples of the results of a time loop: `[T, B, N]` or
/// `[B, N]`.
static void addLoopAxes(Operation &loop, SampleAxes &axes) {
  for (Value result : loop.getResults())
    axes[result] = cast<RankedTensorType>(result.getType()).getRank() - 2;
}

/// The tensors that `op` and its regions read: its operands first.
static SmallVector<Value> getUsedValues(Operation &op, const SampleAxes &axes) {
  llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
  SmallVector<Value> read(op.getOperands());
  for (Region &region : op.getRegions())
    region.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (axes.contains(operand) && operands.insert(operand))
          read.push_back(operand);
    });
  return read;
}

/// Adds the axes of the results of `op`, which reads `read`, to `axes`.
static void addAxes(Operation &op, ArrayRef<Value> read, SampleAxes &axes, StructureReport report) {
  if (llvm::none_of(read, [&](Value operand) { return axes.contains(operand); }))
    return;
  if (isa<RecurrenceOp, ChainOp>(op))
    return addLoopAxes(op, axes);
  for (OpResult result : op.getResults()) {
    std::string why;
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    FailureOr<std::optional<int64_t>> axis = inferSampleAxis(result, axes, why);
    if (failed(axis))
      report(&op, {}, why);
    else if (*axis)
      axes[result] = **axis;
  }
}

/// Gives `op` the Jacobians of its result with respect to what it reads. Integers have no
/// derivative, and those of loops are found by `inferStepJacobian`.
static void annotate(Operation &op, ArrayRef<Value> read, const SampleAxes &axes,
                     StructureReport report) {
  if (op.getNumResults() != 1 || isa<RecurrenceOp, ChainOp>(op))
    return;
  OpResult result = op.getResult(0);
  if (!axes.contains(result) || !isa<FloatType>(getElementTypeOrSelf(result)))
    return;
  SmallVector<JacobianType> jacobians;
  for (Value operand : read) {
    std::string why;
    JacobianType jacobian;
    if (axes.contains(operand) && isa<FloatType>(getElementTypeOrSelf(operand))) {
      jacobian = inferJacobian(result, operand, axes, why);
      report(&op, jacobian, why);
    }
    jacobians.push_back(jacobian);
  }
  attrs::Jacobian::set(&op, OperandJacobiansAttr::getOf(op.getContext(), jacobians));
}

/// The axes of the arguments of `function`.
static SampleAxes getArgumentAxes(FunctionOpInterface function, int64_t batchAxis) {
  SampleAxes axes;
  auto getNamedAxis = [&](BlockArgument argument) {
    return attrs::BatchAxis::ofArgument(function, argument.getArgNumber());
  };
  // Where some inputs name an axis, the others are the same for all samples.
  bool isNamed = llvm::any_of(function.getArguments(), getNamedAxis);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned index = argument.getArgNumber();
    if (!type || !attrs::Input::ofArgument(function, index))
      continue;
    IntegerAttr named = getNamedAxis(argument);
    int64_t axis = named ? named.getInt() : isNamed ? -1 : batchAxis;
    if (axis >= 0 && axis < type.getRank())
      axes[argument] = axis;
  }
  return axes;
}

SampleAxes bppsa::findSampleAxes(FunctionOpInterface function, int64_t batchAxis) {
  SampleAxes axes = getArgumentAxes(function, batchAxis);
  for (Operation &op : function.getFunctionBody().front())
    addAxes(op, getUsedValues(op, axes), axes, [](Operation *, JacobianType, StringRef) {});
  return axes;
}

void bppsa::annotateStructure(Operation *op, const SampleAxes &axes) {
  annotate(*op, getUsedValues(*op, axes), axes, [](Operation *, JacobianType, StringRef) {});
}

SampleAxes bppsa::annotateGraphStructure(FunctionOpInterface function, int64_t batchAxis,
                                         StructureReport report) {
  SampleAxes axes = getArgumentAxes(function, batchAxis);
  for (Operation &op : function.getFunctionBody().front()) {
    SmallVector<Value> read = getUsedValues(op, axes);
    addAxes(op, read, axes, report);
    annotate(op, read, axes, report);
  }
  return axes;
}

//===- GraphStructure.cpp - structure of graph operations -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Jacobian/Analysis/JacobianStructure.h"

using namespace mlir;
using namespace bppsa;

/// Results of a time loop are `[T, B, N]` or `[B, N]`.
static void addLoopAxes(Operation &loop, SampleAxes &axes) {
  for (Value result : loop.getResults())
    axes[result] = cast<RankedTensorType>(result.getType()).getRank() - 2;
}

/// Returns operands, then captures that depend on samples.
static SmallVector<Value> getTensorsRead(Operation &op, const SampleAxes &axes) {
  return getReadValues(&op, [&](Value value) { return axes.contains(value); });
}

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

/// Integers have no derivative; `inferStepJacobian` handles time loops.
static void annotate(Operation &op, ArrayRef<Value> read, const SampleAxes &axes,
                     StructureReport report) {
  if (op.getNumResults() != 1 || isa<RecurrenceOp, ChainOp>(op))
    return;
  OpResult result = op.getResult(0);
  if (!axes.contains(result) || !isa<FloatType>(getElementTypeOrSelf(result)))
    return;
  SmallVector<jacobian::MatrixType> jacobians;
  for (Value operand : read) {
    std::string why;
    jacobian::MatrixType jacobian;
    if (axes.contains(operand) && isa<FloatType>(getElementTypeOrSelf(operand))) {
      jacobian = inferJacobian(result, operand, axes, why);
      report(&op, jacobian, why);
    }
    jacobians.push_back(jacobian);
  }
  attrs::OperandJacobians::set(&op,
                               jacobian::OperandJacobiansAttr::getOf(op.getContext(), jacobians));
}

static SampleAxes getArgumentAxes(FunctionOpInterface function, int64_t batchAxis) {
  SampleAxes axes;
  auto getNamedAxis = [&](BlockArgument argument) {
    return attrs::BatchAxis::ofArgument(function, argument.getArgNumber());
  };
  // If some inputs name a sample dimension, the other inputs are shared by all samples.
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
    addAxes(op, getTensorsRead(op, axes), axes,
            [](Operation *, jacobian::MatrixType, StringRef) {});
  return axes;
}

void bppsa::annotateStructure(Operation *op, const SampleAxes &axes) {
  annotate(*op, getTensorsRead(*op, axes), axes,
           [](Operation *, jacobian::MatrixType, StringRef) {});
}

SampleAxes bppsa::annotateGraphStructure(FunctionOpInterface function, int64_t batchAxis,
                                         StructureReport report) {
  SampleAxes axes = getArgumentAxes(function, batchAxis);
  for (Operation &op : function.getFunctionBody().front()) {
    SmallVector<Value> read = getTensorsRead(op, axes);
    addAxes(op, read, axes, report);
    annotate(op, read, axes, report);
  }
  return axes;
}

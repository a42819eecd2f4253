//===- GraphStructure.cpp - structure of the operations of a graph --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/JacobianStructure.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

/// The dimension of samples of the results of a time loop: `[T, B, N]` or
/// `[B, N]`.
static void addLoopAxes(Operation &loop, SampleAxes &axes) {
  for (Value result : loop.getResults())
    axes[result] = cast<RankedTensorType>(result.getType()).getRank() - 2;
}

/// Annotates one operation, and adds the axes of its results to `axes`.
static void annotate(Operation &op, SampleAxes &axes, StructureReport report) {
  llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
  SmallVector<Value> read(op.getOperands());
  for (Region &region : op.getRegions())
    region.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (axes.contains(operand) && operands.insert(operand))
          read.push_back(operand);
    });
  if (llvm::none_of(read, [&](Value operand) { return axes.contains(operand); }))
    return;
  if (isa<RecurrenceOp, ChainOp>(op))
    return addLoopAxes(op, axes);
  for (OpResult result : op.getResults()) {
    std::string why;
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    FailureOr<std::optional<int64_t>> axis = inferSampleAxis(result, axes, why);
    if (failed(axis)) {
      report(&op, {}, why);
      continue;
    }
    if (!*axis)
      continue;
    axes[result] = **axis;
    // Integers have no derivative.
    if (!isa<FloatType>(type.getElementType()) || op.getNumResults() != 1)
      continue;
    SmallVector<Attribute> jacobians;
    for (Value operand : read) {
      JacobianType jacobian;
      if (axes.contains(operand) && isa<FloatType>(getElementTypeOrSelf(operand))) {
        jacobian = inferJacobian(result, operand, axes, why);
        report(&op, jacobian, why);
      }
      jacobians.push_back(jacobian ? Attribute(TypeAttr::get(jacobian))
                                   : UnitAttr::get(op.getContext()));
    }
    op.setDiscardableAttr(kJacobianAttr, ArrayAttr::get(op.getContext(), jacobians));
  }
}

SampleAxes bppsa::annotateGraphStructure(FunctionOpInterface function, int64_t batchAxis,
                                         StructureReport report) {
  SampleAxes axes;
  auto getNamedAxis = [&](BlockArgument argument) {
    return function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "bppsa.batch_axis");
  };
  // Where some inputs name an axis, the others are the same for all samples.
  bool isNamed = llvm::any_of(function.getArguments(), getNamedAxis);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned index = argument.getArgNumber();
    if (!type || !function.getArgAttr(index, "bppsa.input"))
      continue;
    IntegerAttr named = getNamedAxis(argument);
    int64_t axis = named ? named.getInt() : isNamed ? -1 : batchAxis;
    if (axis >= 0 && axis < type.getRank())
      axes[argument] = axis;
  }
  for (Operation &op : function.getFunctionBody().front())
    annotate(op, axes, report);
  return axes;
}

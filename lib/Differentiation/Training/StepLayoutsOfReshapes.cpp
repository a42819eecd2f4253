//===- StepLayoutsOfReshapes.cpp - time shards of slices and reshapes -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepLayouts.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;
using Kind = StepLayout::Kind;

static int64_t countKept(const llvm::SmallBitVector &dropped, int64_t axis) {
  int64_t kept = 0;
  for (int64_t i = 0; i < axis; ++i)
    kept += !dropped[i];
  return kept;
}

LogicalResult StepLayouts::visitSlice(tensor::ExtractSliceOp op) {
  StepLayout layout = get(op.getSource());
  if (!layout.isCut())
    return visitOther(op);
  MLIRContext *context = op.getContext();
  AffineExpr offset = sizes.get(op.getMixedOffsets()[layout.axis], context);
  AffineExpr size = sizes.get(op.getMixedSizes()[layout.axis], context);
  AffineExpr zero = getAffineConstantExpr(0, context), one = zero + 1;
  auto isAt = [&](AffineExpr place) { return sizes.areEqual(offset, place); };
  int64_t axis = countKept(op.getDroppedDims(), layout.axis);
  bool isSlots = layout.kind == Kind::Slots;
  if (!isConstantIntValue(op.getMixedStrides()[layout.axis], 1))
    return refuseToShare(op, "takes steps with a stride");
  if (sizes.areEqual(size, getExtent(layout)))
    layouts[op] = {layout.kind, axis};
  else if (isSlots && sizes.areEqual(size, steps))
    layouts[op] = {Kind::Steps, axis};
  else if (sizes.areEqual(size, one) &&
           (isAt(getExtent(layout) - 1) || (isSlots && isAt(steps - 1))))
    layouts[op] = {Kind::Last};
  else if (sizes.areEqual(size, one) && (isAt(zero) || (isSlots && isAt(one)))) {
    layouts[op] = {Kind::Last};
    ofFirstStep.push_back(op);
  } else
    return refuseToShare(op, "takes some of the steps");
  return success();
}

LogicalResult StepLayouts::visitInsertion(tensor::InsertSliceOp op) {
  StepLayout from = get(op.getSource()), into = get(op.getDest());
  if (!from.isCut() && !into.isCut())
    return visitOther(op);
  bool isAlike = from.kind == into.kind && from.axis == countKept(op.getDroppedDims(), into.axis) &&
                 isConstantIntValue(op.getMixedOffsets()[into.axis], 0);
  if (!isAlike)
    return refuseToShare(op, "puts sequences together along their steps");
  layouts[op] = into;
  return success();
}

LogicalResult StepLayouts::visitConcat(tensor::ConcatOp op) {
  if (llvm::none_of(op.getInputs(), [&](Value input) { return get(input).isCut(); }))
    return visitOther(op);
  StepLayout first = get(op.getInputs().front());
  for (Value input : op.getInputs())
    if (!(get(input) == first))
      return refuseToShare(op, "puts a sequence and another array together");
  if (static_cast<int64_t>(op.getDim()) == first.axis)
    return refuseToShare(op, "puts sequences together along their steps");
  layouts[op] = first;
  return success();
}

LogicalResult StepLayouts::visitCollapse(tensor::CollapseShapeOp op) {
  StepLayout layout = get(op.getSrc());
  layouts[op] = layout;
  if (!layout.isCut())
    return success();
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (!llvm::is_contained(group, layout.axis))
      continue;
    for (int64_t dim : group)
      if (dim != layout.axis && op.getSrcType().getDimSize(dim) != 1)
        return refuseToShare(op, "merges the axis of the steps with another one");
    layouts[op].axis = i;
  }
  return success();
}

LogicalResult StepLayouts::visitExpand(tensor::ExpandShapeOp op) {
  StepLayout layout = get(op.getSrc());
  layouts[op] = layout;
  if (!layout.isCut())
    return success();
  std::optional<int64_t> axis;
  ReassociationIndices dims = op.getReassociationIndices()[layout.axis];
  for (int64_t dim : dims) {
    if (op.getResultType().getDimSize(dim) == 1)
      continue;
    if (axis)
      return refuseToShare(op, "divides the axis of the steps");
    axis = dim;
  }
  layouts[op].axis = axis.value_or(dims.front());
  return success();
}

//===- StepOutputs.cpp - replaces outputs of steps ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepOutputs.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

Value OutputReplacer::createStep(unsigned step) {
  Location loc = array.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, array);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  sizes[0] = builder.getIndexAttr(1);
  offsets[0] = builder.getIndexAttr(loop.getSlot(step));
  Value slice = tensor::ExtractSliceOp::create(builder, loc, array, offsets, sizes, strides);
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t i = 2, e = sizes.size(); i < e; ++i)
    groups.push_back({i});
  return tensor::CollapseShapeOp::create(builder, loc, values[step].getType(), slice, groups);
}

Value OutputReplacer::createJoined(int64_t axis, bool isUnit, bool isFlipped) {
  int64_t rank = cast<RankedTensorType>(array.getType()).getRank();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  order.insert(order.begin() + axis, 0);
  Value steps = isFlipped ? createFlipped(builder, array) : array;
  Value joined = createTransposed(builder, steps, order);
  if (isUnit)
    return joined;
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i)
    if (i == axis + 1)
      groups.back().push_back(i);
    else
      groups.push_back({i});
  return tensor::CollapseShapeOp::create(builder, array.getLoc(), joined, groups);
}

bool OutputReplacer::isOperandOf(tensor::ConcatOp concat, Value operand, unsigned step,
                                 bool isUnit) const {
  if (!isUnit)
    return operand == values[step];
  auto expand = operand.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || expand.getSrc() != values[step])
    return false;
  SmallVector<int64_t> shape(expand.getSrcType().getShape());
  shape.insert(shape.begin() + std::min<int64_t>(concat.getDim(), shape.size()), 1);
  return expand.getResultType().getShape() == ArrayRef(shape);
}

std::optional<size_t> OutputReplacer::findSteps(tensor::ConcatOp concat, bool &isUnit,
                                                bool &isReverse) const {
  size_t count = values.size(), numInputs = concat.getInputs().size();
  for (size_t first = 0; first + count <= numInputs; ++first)
    for (bool reversed : {false, true})
      for (bool unit : {false, true}) {
        auto isStep = [&](size_t i) {
          return isOperandOf(concat, concat.getInputs()[first + i], reversed ? count - 1 - i : i,
                             unit);
        };
        if (!isStep(0) || !llvm::all_of(llvm::seq<size_t>(1, count), isStep))
          continue;
        isUnit = unit;
        isReverse = reversed;
        return first;
      }
  return std::nullopt;
}

bool OutputReplacer::replaceConcat(Operation *user) {
  auto concat = dyn_cast<tensor::ConcatOp>(user);
  bool isUnit = false, isReverse = false;
  std::optional<size_t> first =
      concat ? findSteps(concat, isUnit, isReverse) : std::optional<size_t>();
  if (!first)
    return false;
  int64_t axis = concat.getDim();
  auto type = cast<RankedTensorType>(values[0].getType());
  if (!isUnit && type.isDynamicDim(axis))
    return false;
  SmallVector<Value> inputs(concat.getInputs());
  auto begin = inputs.begin() + *first;
  builder.setInsertionPoint(concat);
  // Arrays of reversed loops are in sequence order.
  *begin = createJoined(axis, isUnit, (loop.getSlot(0) != 0) != isReverse);
  inputs.erase(begin + 1, begin + values.size());
  Value joined = inputs.size() == 1 ? inputs[0]
                                    : tensor::ConcatOp::create(builder, concat.getLoc(),
                                                               concat.getType(), axis, inputs)
                                          .getResult();
  if (joined.getType() != concat.getType())
    joined = tensor::CastOp::create(builder, concat.getLoc(), concat.getType(), joined);
  concat.replaceAllUsesWith(joined);
  concat.erase();
  return true;
}

void OutputReplacer::replace(unsigned tuple) {
  array = loop.getOutput(tuple);
  values = ArrayRef(steps[tuple].values).take_front(steps.getNumSteps());
  for (Operation *user : llvm::to_vector(values[0].getUsers())) {
    if (replaceConcat(user))
      continue;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
      for (Operation *next : llvm::to_vector(expand->getUsers()))
        replaceConcat(next);
  }
  builder.setInsertionPointAfterValue(array);
  for (unsigned step = 0; step < values.size(); ++step) {
    Value value = values[step];
    auto isOutside = [&](OpOperand &use) {
      return !steps.isStepOp(value.getParentBlock()->findAncestorOpInBlock(*use.getOwner())) &&
             !isOpTriviallyDead(use.getOwner());
    };
    if (llvm::any_of(value.getUses(), isOutside))
      value.replaceUsesWithIf(createStep(step), isOutside);
  }
}

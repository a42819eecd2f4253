//===- TransientStates.cpp - states whose final value is read -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TransientStates.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

static Value getOrigin(Value array) {
  auto keepsFirst = [](ArrayRef<ReassociationIndices> groups) {
    return !groups.empty() && groups.front().size() == 1;
  };
  while (Operation *op = array.getDefiningOp()) {
    auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
    bool isKept = isa<tensor::CastOp>(op) ||
                  (expand && keepsFirst(expand.getReassociationIndices())) ||
                  (collapse && keepsFirst(collapse.getReassociationIndices()));
    if (!isKept)
      break;
    array = op->getOperand(0);
  }
  return array;
}

static bool isNumberOfSteps(OpFoldResult size, RecurrenceOp loop) {
  if (loop.getSequences().empty())
    return getAsOpFoldResult(loop.getSteps()) == size;
  Value sequence = loop.getSequences()[0];
  int64_t steps = cast<RankedTensorType>(sequence.getType()).getDimSize(0);
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant == steps;
  auto dim = cast<Value>(size).getDefiningOp<tensor::DimOp>();
  return dim && dim.getConstantIndex() == 0 && getOrigin(dim.getSource()) == getOrigin(sequence);
}

bool bppsa::readsFinalState(tensor::ExtractSliceOp slice, RecurrenceOp loop) {
  OpFoldResult offset = slice.getMixedOffsets()[0];
  return slice.hasUnitStride() && isConstantIntValue(slice.getMixedSizes()[0], 1) &&
         (loop.getReverse() ? isConstantIntValue(offset, 0) : isNumberOfSteps(offset, loop));
}

bool bppsa::isTransient(RecurrenceOp loop, unsigned state) {
  return llvm::all_of(loop.getTrajectories()[state].getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return readsSizeOnly(user) || (slice && readsFinalState(slice, loop));
  });
}

void bppsa::replaceFinalReads(Value trajectory, Value state) {
  for (Operation *user : llvm::make_early_inc_range(trajectory.getUsers())) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice)
      continue;
    OpBuilder builder(slice);
    Location loc = slice.getLoc();
    SmallVector<int64_t> shape(cast<RankedTensorType>(state.getType()).getShape());
    shape.insert(shape.begin(), 1);
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, state);
    sizes.insert(sizes.begin(), builder.getIndexAttr(1));
    SmallVector<ReassociationIndices> groups = {{0, 1}};
    for (int64_t i = 2, rank = shape.size(); i < rank; ++i)
      groups.push_back({i});
    Value slot = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, slice.getType().getElementType()), state, groups,
        sizes);
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    offsets[0] = builder.getIndexAttr(0);
    slice.replaceAllUsesWith(tensor::ExtractSliceOp::create(builder, loc, slice.getType(), slot,
                                                            offsets, slice.getMixedSizes(),
                                                            slice.getMixedStrides())
                                 .getResult());
    slice.erase();
  }
}

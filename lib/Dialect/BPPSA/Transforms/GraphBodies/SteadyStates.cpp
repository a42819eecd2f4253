//===- SteadyStates.cpp - states that never change ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SteadyStates.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

/// `array` may only be used for sizes and as a saved array of chains, whose values are added to
/// `found`.
static bool isSavedOnly(Value array, SmallVectorImpl<Value> &found) {
  for (OpOperand &use : array.getUses()) {
    auto chain = dyn_cast<ChainOp>(use.getOwner());
    if (isa<tensor::DimOp>(use.getOwner()))
      continue;
    if (auto cast = dyn_cast<tensor::CastOp>(use.getOwner())) {
      if (!isSavedOnly(cast, found))
        return false;
    } else if (!chain || !chain.isGraphForm() ||
               use.getOperandNumber() >= chain.getSaved().size()) {
      return false;
    }
  }
  found.push_back(array);
  return true;
}

static bool isOfSlots(tensor::ExtractSliceOp slice) {
  auto type = slice.getSourceType();
  return slice.hasUnitStride() && slice.getType().getRank() == type.getRank() &&
         llvm::all_of(llvm::drop_begin(slice.getMixedOffsets()),
                      [](OpFoldResult offset) { return isConstantIntValue(offset, 0); }) &&
         slice.getType().getShape().drop_front() == type.getShape().drop_front();
}

void SteadyStates::add(RecurrenceOp loop, unsigned state) {
  Value trajectory = loop.getTrajectories()[state], initial = loop.getInitial()[state];
  SmallVector<Value> saved;
  SmallVector<tensor::ExtractSliceOp> single;
  for (Operation *user : trajectory.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (isa<tensor::DimOp>(user))
      continue;
    if (!slice || !isOfSlots(slice))
      return;
    if (slice.getType().getDimSize(0) == 1 &&
        slice.getType().getShape().drop_front() == cast<ShapedType>(initial.getType()).getShape())
      single.push_back(slice);
    else if (!isSavedOnly(slice, saved))
      return;
  }
  for (tensor::ExtractSliceOp slice : single) {
    OpBuilder builder(slice);
    SmallVector<ReassociationIndices> groups = {{0, 1}};
    for (int64_t i = 2, rank = slice.getType().getRank(); i < rank; ++i)
      groups.push_back({i});
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    slice.replaceAllUsesWith(tensor::ExpandShapeOp::create(builder, slice.getLoc(), slice.getType(),
                                                           initial, groups, sizes)
                                 .getResult());
    slice.erase();
  }
  trajectories.insert(trajectory);
  for (Value array : saved)
    arrays[array] = initial;
}

SteadyStates::SteadyStates(func::FuncOp function, function_ref<bool(RecurrenceOp)> isIncluded) {
  for (auto loop : function.getOps<RecurrenceOp>()) {
    if (!loop.isGraphForm() || !isIncluded(loop))
      continue;
    Block &body = loop.getBody().front();
    for (unsigned state = 0; state < loop.getInitial().size(); ++state)
      if (body.getTerminator()->getOperand(state) ==
          body.getArgument(loop.getSequences().size() + state))
        add(loop, state);
  }
}

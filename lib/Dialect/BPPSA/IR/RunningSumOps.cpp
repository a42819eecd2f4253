//===- RunningSumOps.cpp - sums that span several loops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult AddToSumsOp::verify() {
  int64_t lanes = getLanes();
  auto sums = cast<ShapedType>(getDestination().getType());
  SmallVector<int64_t> expected;
  for (Value sequence : getOperands().drop_back()) {
    auto type = cast<ShapedType>(sequence.getType());
    if (type.getRank() != 4 || type.getShape().back() != lanes)
      return emitOpError() << "a sequence must have rank 4 and " << lanes
                           << " lanes in its last dimension, found " << type;
    if (expected.empty())
      expected.push_back(type.getDimSize(0));
    expected.push_back(type.getDimSize(2));
  }
  expected.push_back(lanes);
  if (sums.getShape() != ArrayRef<int64_t>(expected))
    return emitOpError() << "needs running sums of shape "
                         << RankedTensorType::get(expected, sums.getElementType()) << ", found "
                         << sums;
  bool isTensor = isa<RankedTensorType>(sums);
  if (getNumResults() != (isTensor ? 1 : 0) || (isTensor && getResult().getType() != sums))
    return emitOpError() << "with the destination " << sums << " must have "
                         << (isTensor ? "one result of that type" : "no results");
  return success();
}

LogicalResult FinishSumsOp::verify() {
  if ((getNumResults() == 1) == static_cast<bool>(getDestination()))
    return emitOpError("must have either a result or a destination");
  Value written = getDestination() ? Value(getDestination()) : Value(getResult());
  auto sums = cast<ShapedType>(getSums().getType()), sum = cast<ShapedType>(written.getType());
  int64_t rank = sums.getRank();
  if (rank < 3 || sums.getShape().back() != static_cast<int64_t>(getLanes()))
    return emitOpError() << "running sums must have blocks, " << getLanes()
                         << " lanes in their last dimension and others between, found " << sums;
  if (sum.getShape() != sums.getShape().slice(1, rank - 2))
    return emitOpError() << "needs a result with the dimensions of " << sums
                         << " between blocks and lanes, found " << sum;
  return success();
}

//===----------------------------------------------------------------------===//
// Effects and shapes
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Adds `effect` on `operand`. Tensors have no effects.
static void addEffect(OpOperand &operand, MemoryEffects::Effect *effect, Effects &effects) {
  if (isa<MemRefType>(operand.get().getType()))
    effects.emplace_back(effect, &operand);
}

void AddToSumsOp::getEffects(Effects &effects) {
  for (OpOperand &operand : (*this)->getOpOperands())
    addEffect(operand, MemoryEffects::Read::get(), effects);
  addEffect(getDestinationMutable(), MemoryEffects::Write::get(), effects);
}

void FinishSumsOp::getEffects(Effects &effects) {
  addEffect(getSumsMutable(), MemoryEffects::Read::get(), effects);
  for (OpOperand &operand : getDestinationMutable())
    addEffect(operand, MemoryEffects::Write::get(), effects);
}

LogicalResult AddToSumsOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 1)
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getDestination()));
  return success();
}

LogicalResult FinishSumsOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  if (getNumResults() == 0)
    return success();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, getLoc(), getSums());
  shapes.emplace_back(ArrayRef(sizes).drop_front().drop_back());
  return success();
}

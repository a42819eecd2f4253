//===- RunningSumOps.cpp - sums that span several loops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

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
  return verifyTiedResult(*this, sums);
}

LogicalResult FinishSumsOp::verify() {
  FailureOr<ShapedType> sum = getWrittenType(*this, getDestination());
  if (failed(sum))
    return failure();
  auto sums = cast<ShapedType>(getSums().getType());
  int64_t rank = sums.getRank();
  if (rank < 3 || sums.getShape().back() != static_cast<int64_t>(getLanes()))
    return emitOpError() << "running sums must have blocks, " << getLanes()
                         << " lanes in their last dimension and others between, found " << sums;
  if (sum->getShape() != sums.getShape().slice(1, rank - 2))
    return emitOpError() << "needs a result with the dimensions of " << sums
                         << " between blocks and lanes, found " << *sum;
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

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

//===- ResultShapes.cpp - result shapes from operands ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Dynamic sizes of results are numbers of steps and of samples, or of blocks of samples in packed
// arrays.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Support/DestinationOps.h"

using namespace mlir;
using namespace bppsa;

static LogicalResult reifyDestinations(OpBuilder &builder, Operation *op, ValueRange destinations,
                                       ReifiedRankedShapedTypeDims &shapes) {
  for (auto [result, destination] : llvm::zip(op->getResults(), destinations))
    shapes.push_back(tensor::getMixedSizes(builder, op->getLoc(), destination));
  return success();
}

static OpFoldResult addOne(OpBuilder &builder, Location loc, OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return builder.getIndexAttr(*constant + 1);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return getAsOpFoldResult(builder.createOrFold<arith::AddIOp>(loc, cast<Value>(size), one));
}

namespace {
struct LoopSizes {
  OpBuilder &builder;
  Location loc;
  SmallVector<Value> sequences, states;
  Value steps;
  bool isPacked;

  int64_t getTimeDim() const { return isPacked ? 1 : 0; }
  int64_t getRowDim(bool hasTime) const { return hasTime && !isPacked ? 1 : 0; }

  OpFoldResult getSteps() const {
    return sequences.empty() ? OpFoldResult(steps)
                             : tensor::getMixedSize(builder, loc, sequences[0], getTimeDim());
  }
  OpFoldResult getRows() const {
    bool hasTime = !sequences.empty();
    if (!hasTime && states.empty())
      return {};
    return tensor::getMixedSize(builder, loc, hasTime ? sequences[0] : states[0],
                                getRowDim(hasTime));
  }
  /// A trajectory has one more slot than steps.
  OpFoldResult get(int64_t dim, bool hasTime, bool isTrajectory = false) const {
    if (dim == getRowDim(hasTime))
      return getRows();
    if (!hasTime || dim != getTimeDim())
      return {};
    return isTrajectory ? addOne(builder, loc, getSteps()) : getSteps();
  }
};
} // namespace

LogicalResult RecurrenceOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  if (!getDestinations().empty())
    return reifyDestinations(builder, *this, getDestinations(), shapes);
  LoopSizes sizes{builder, getLoc(), getSequences(), getInitial(), getSteps(), !!getLanes()};
  for (OpResult result : getResults()) {
    bool isTrajectory = result.getResultNumber() < getTrajectories().size();
    auto getSize = [&](int64_t dim) { return sizes.get(dim, /*hasTime=*/true, isTrajectory); };
    if (failed(reifyShape(result, getSize, shapes)))
      return failure();
  }
  return success();
}

LogicalResult ChainOp::reifyResultShapes(OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  if (!getDestinations().empty())
    return reifyDestinations(builder, *this, getDestinations(), shapes);
  LoopSizes sizes{builder, getLoc(), getSaved(), getSeeds(), getSteps(), !!getLanes()};
  llvm::append_range(sizes.sequences, getInjected());
  llvm::append_range(sizes.sequences, getFactors());
  size_t firstEmitted = getCotangents().size();
  for (OpResult result : getResults()) {
    bool hasTime = result.getResultNumber() >= firstEmitted;
    auto getSize = [&](int64_t dim) { return sizes.get(dim, hasTime); };
    if (failed(reifyShape(result, getSize, shapes)))
      return failure();
  }
  return success();
}

LogicalResult TransitionOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinations(builder, *this, getDestination(), shapes);
}
LogicalResult FactoredTransitionOp::reifyResultShapes(OpBuilder &builder,
                                                      ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinations(builder, *this, getDestination(), shapes);
}
LogicalResult ComposeTransitionsOp::reifyResultShapes(OpBuilder &builder,
                                                      ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinations(builder, *this, getDestination(), shapes);
}
LogicalResult ApplyTransitionOp::reifyResultShapes(OpBuilder &builder,
                                                   ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinations(builder, *this, getDestination(), shapes);
}

LogicalResult OuterSumOp::reifyResultShapes(OpBuilder &builder,
                                            ReifiedRankedShapedTypeDims &shapes) {
  auto getSize = [&](int64_t dim) {
    return tensor::getMixedSize(builder, getLoc(), dim == 0 ? getLhs() : getRhs(), 2);
  };
  return reifyOnlyShape(*this, getSize, shapes);
}

LogicalResult StepSumOp::reifyResultShapes(OpBuilder &builder,
                                           ReifiedRankedShapedTypeDims &shapes) {
  auto getSize = [&](int64_t) { return tensor::getMixedSize(builder, getLoc(), getSequence(), 2); };
  return reifyOnlyShape(*this, getSize, shapes);
}

LogicalResult ReduceSumsOp::reifyResultShapes(OpBuilder &, ReifiedRankedShapedTypeDims &shapes) {
  for (OpResult sum : getSums())
    if (failed(reifyShape(sum, [](int64_t) { return OpFoldResult(); }, shapes)))
      return failure();
  return success();
}

/// Plain: `[T, B, N]` or `[B, N]`; packed: `[ceil(B/L), T, N, L]` or `[ceil(B/L), N, L]`.
LogicalResult PackLanesOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  auto getSize = [&](int64_t dim) -> OpFoldResult {
    if (dim != 0)
      return tensor::getMixedSize(builder, getLoc(), getSource(),
                                  dim == 1 && rank == 3 ? 0 : rank - 1);
    Value batch = tensor::DimOp::create(builder, getLoc(), getSource(), rank - 2);
    Value lanes = arith::ConstantIndexOp::create(builder, getLoc(), getLanes());
    return arith::CeilDivUIOp::create(builder, getLoc(), batch, lanes).getResult();
  };
  return reifyOnlyShape(*this, getSize, shapes);
}

LogicalResult UnpackLanesOp::reifyResultShapes(OpBuilder &builder,
                                               ReifiedRankedShapedTypeDims &shapes) {
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank() - 1;
  auto getSize = [&](int64_t dim) -> OpFoldResult {
    if (dim == rank - 2)
      return getBatch();
    return tensor::getMixedSize(builder, getLoc(), getSource(), dim == 0 ? 1 : rank - 1);
  };
  return reifyOnlyShape(*this, getSize, shapes);
}

//===- DistOps.cpp - exchange between ranks -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::dist;

#define GET_OP_CLASSES
#include "bppsa/Dialect/Dist/IR/DistOps.cpp.inc"

/// Gradient exchange identifies arrays by the argument names in `attribute`.
static LogicalResult verifyArgument(Operation *op, Value value, StringRef attribute) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return op->emitOpError() << "needs an argument of the function, found another value; use the "
                                "argument with '"
                             << attribute << "'";
  if (!function.getArgAttr(argument.getArgNumber(), attribute))
    return op->emitOpError() << "needs an argument with '" << attribute << "', found argument "
                             << argument.getArgNumber() << " without; use another one";
  return success();
}

LogicalResult AwaitParameterOp::verify() {
  return verifyArgument(*this, getParameter(), attrs::Parameter::getName());
}

LogicalResult SignalGradientOp::verify() {
  return verifyArgument(*this, getGradient(), attrs::Gradient::getName());
}

LogicalResult RankMeanOp::verify() {
  auto operand = cast<ShapedType>(getOperand().getType());
  if (!operand.getElementType().isF32())
    return emitOpError() << "needs an operand of f32, found " << operand;
  Value made = getDestination();
  if (isa<TensorType>(operand))
    made = getResult();
  if (!made || (getDestination() && getResult()))
    return emitOpError("needs a result for a tensor operand and a destination for a memref "
                       "operand, found another combination");
  if (auto type = cast<ShapedType>(made.getType());
      type.getShape() != operand.getShape() || !type.getElementType().isF32())
    return emitOpError() << "returns an array of the type of its operand, " << operand << ", found "
                         << type;
  return success();
}

LogicalResult RankMeanOp::reifyResultShapes(OpBuilder &builder,
                                            ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getOperand()));
  return success();
}

static LogicalResult verifyChannel(Operation *op, int64_t stage, int64_t channel) {
  if (stage < 0 || channel < 0)
    return op->emitOpError() << "needs a stage and a channel from 0 on, found " << stage << " and "
                             << channel;
  return success();
}

LogicalResult StageSendOp::verify() { return verifyChannel(*this, getStage(), getChannel()); }

LogicalResult StageReceiveOp::verify() {
  FailureOr<ShapedType> type = getWrittenType(*this, getDestination());
  if (failed(type))
    return failure();
  int64_t open = type->getNumDynamicDims();
  if (static_cast<int64_t>(getSizes().size()) != open)
    return emitOpError() << "needs the " << open << " sizes that " << *type
                         << " leaves open, found " << getSizes().size();
  return verifyChannel(*this, getStage(), getChannel());
}

LogicalResult StageReceiveOp::reifyResultShapes(OpBuilder &builder,
                                                ReifiedRankedShapedTypeDims &shapes) {
  auto type = cast<ShapedType>(getResult().getType());
  shapes.push_back(getMixedValues(type.getShape(), getSizes(), builder));
  return success();
}

static LogicalResult verifyExchangedState(Operation *op, Value operand, Value destination,
                                          Value result, ArrayRef<int64_t> shape) {
  auto type = cast<ShapedType>(operand.getType());
  if (!type.getElementType().isF32())
    return op->emitOpError() << "needs a state of f32, found " << type;
  Value made = isa<TensorType>(type) ? result : destination;
  if (!made || (destination && result))
    return op->emitOpError("needs a result for a tensor operand and a destination for a memref "
                           "operand, found another combination");
  if (auto found = cast<ShapedType>(made.getType());
      found.getShape() != shape || !found.getElementType().isF32())
    return op->emitOpError() << "makes an array of "
                             << RankedTensorType::get(shape, type.getElementType()) << ", found "
                             << found;
  return success();
}

static LogicalResult verifyShardChannel(Operation *op, int64_t channel) {
  if (channel < 0)
    return op->emitOpError() << "needs a channel from 0 on, found " << channel;
  return success();
}

LogicalResult ShardEnterOp::verify() {
  if (failed(verifyExchangedState(*this, getOperand(), getDestination(), getResult(),
                                  cast<ShapedType>(getOperand().getType()).getShape())))
    return failure();
  return verifyShardChannel(*this, getChannel());
}

LogicalResult ShardEnterOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getOperand()));
  return success();
}

LogicalResult ShardLeaveOp::verify() {
  ArrayRef<int64_t> shape = cast<ShapedType>(getOperand().getType()).getShape();
  if (failed(verifyExchangedState(*this, getOperand(), getDestination(), getResult(),
                                  getTransposed() ? shape : ArrayRef<int64_t>())))
    return failure();
  return verifyShardChannel(*this, getChannel());
}

LogicalResult ShardLeaveOp::reifyResultShapes(OpBuilder &builder,
                                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.emplace_back();
  if (getTransposed())
    shapes.back() = tensor::getMixedSizes(builder, getLoc(), getOperand());
  return success();
}

LogicalResult ShardScanOp::verify() {
  auto map = cast<ShapedType>(getMap().getType()), own = cast<ShapedType>(getOwn().getType());
  ArrayRef<int64_t> sizes = map.getShape();
  if (sizes.size() != 3 || ShapedType::isDynamic(sizes[2]) || sizes[1] != sizes[2] ||
      !map.getElementType().isF32())
    return emitOpError() << "needs a map [B, S, S] of f32 with a fixed S, found " << map;
  if (own.getShape() != sizes.drop_back())
    return emitOpError() << "needs cotangents [B, S] of as many samples and values as the map, "
                         << map << ", found " << own;
  if (failed(verifyExchangedState(*this, getOwn(), getDestination(), getResult(), own.getShape())))
    return failure();
  return verifyShardChannel(*this, getChannel());
}

LogicalResult ShardScanOp::reifyResultShapes(OpBuilder &builder,
                                             ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getOwn()));
  return success();
}

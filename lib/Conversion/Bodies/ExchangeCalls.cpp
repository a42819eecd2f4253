//===- ExchangeCalls.cpp - rank exchanges to run-time calls ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ExchangeCalls.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

static void replaceByCall(Operation *op, StringRef name, ValueRange arguments) {
  OpBuilder builder(op);
  auto call = emitRuntimeCall(builder, op->getLoc(), op->getParentOfType<ModuleOp>(), name,
                              arguments, op->getResultTypes());
  op->replaceAllUsesWith(call);
  op->erase();
}

static Value getAddress(OpBuilder &builder, Location loc, Value array) {
  return memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, array);
}

/// The run time works in place on the destination.
static LogicalResult lower(dist::RankMeanOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value array = op.getDestination();
  memref::CopyOp::create(builder, loc, op.getOperand(), array);
  Value count = arith::ConstantIndexOp::create(builder, loc, 1);
  for (int64_t dim = 0, rank = cast<MemRefType>(array.getType()).getRank(); dim < rank; ++dim)
    count =
        arith::MulIOp::create(builder, loc, count, memref::DimOp::create(builder, loc, array, dim));
  Value transposed = arith::ConstantIndexOp::create(builder, loc, op.getTransposed() ? 1 : 0);
  replaceByCall(op, "bppsa_rt_rank_mean", {getAddress(builder, loc, array), count, transposed});
  return success();
}

static Value getBytes(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  int64_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Value bytes = arith::ConstantIndexOp::create(builder, loc, elementBytes);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes =
        arith::MulIOp::create(builder, loc, bytes, memref::DimOp::create(builder, loc, array, dim));
  return bytes;
}

static Value makeDense(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  if (type.getLayout().isIdentity())
    return array;
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, array, dim));
  auto dense = memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()), sizes);
  memref::CopyOp::create(builder, loc, array, dense);
  return dense;
}

/// The copy is freed after `op`.
static Value makeDenseUntil(Operation *op, Value array) {
  OpBuilder builder(op);
  Value dense = makeDense(builder, op->getLoc(), array);
  if (dense == array)
    return dense;
  builder.setInsertionPointAfter(op);
  memref::DeallocOp::create(builder, op->getLoc(), dense);
  return dense;
}

static void lowerExchange(Operation *op, StringRef name, Value array, int64_t stage,
                          int64_t channel) {
  Value dense = makeDenseUntil(op, array);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value address = getAddress(builder, loc, dense), bytes = getBytes(builder, loc, dense);
  Value other = arith::ConstantIndexOp::create(builder, loc, stage);
  Value number = arith::ConstantIndexOp::create(builder, loc, channel);
  replaceByCall(op, name, {address, bytes, other, number});
}

static LogicalResult lower(dist::StageSendOp op) {
  lowerExchange(op, "bppsa_rt_stage_send", op.getOperand(), op.getStage(), op.getChannel());
  return success();
}

static LogicalResult lower(dist::StageReceiveOp op) {
  if (!cast<MemRefType>(op.getDestination().getType()).getLayout().isIdentity())
    return op.emitOpError() << "needs a dense destination, found " << op.getDestination().getType();
  lowerExchange(op, "bppsa_rt_stage_receive", op.getDestination(), op.getStage(), op.getChannel());
  return success();
}

template <typename OpTy> static LogicalResult lowerShardCall(OpTy op, StringRef name, Value array) {
  if (!cast<MemRefType>(array.getType()).getLayout().isIdentity())
    return op.emitOpError() << "needs a dense destination, found " << array.getType();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  replaceByCall(op, name,
                {getAddress(builder, loc, array), getBytes(builder, loc, array),
                 number(op.getReverse() ? 1 : 0), number(op.getTransposed() ? 1 : 0),
                 number(op.getChannel())});
  return success();
}

/// The run time works in place.
static LogicalResult lower(dist::ShardEnterOp op) {
  OpBuilder builder(op);
  memref::CopyOp::create(builder, op.getLoc(), op.getOperand(), op.getDestination());
  return lowerShardCall(op, "bppsa_rt_shard_enter", op.getDestination());
}

/// Sends the operand or, transposed, receives.
static LogicalResult lower(dist::ShardLeaveOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  if (op.getTransposed())
    return lowerShardCall(op, "bppsa_rt_shard_leave", op.getDestination());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  memref::StoreOp::create(builder, loc, zero, op.getDestination(), ValueRange());
  return lowerShardCall(op, "bppsa_rt_shard_leave", makeDenseUntil(op, op.getOperand()));
}

/// Reads the transition and the rank's cotangents.
static LogicalResult lower(dist::ShardScanOp op) {
  Value into = op.getDestination();
  if (!cast<MemRefType>(into.getType()).getLayout().isIdentity())
    return op.emitOpError() << "needs a dense destination, found " << into.getType();
  Value map = makeDenseUntil(op, op.getMap()), own = makeDenseUntil(op, op.getOwn());
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value samples = memref::DimOp::create(builder, loc, into, 0);
  Value size = memref::DimOp::create(builder, loc, into, 1);
  Value reverse = arith::ConstantIndexOp::create(builder, loc, op.getReverse() ? 1 : 0);
  replaceByCall(op, "bppsa_rt_shard_scan",
                {getAddress(builder, loc, map), getAddress(builder, loc, own),
                 getAddress(builder, loc, into), samples, size, reverse});
  return success();
}

static LogicalResult lower(dist::ShardFirstStepOp op) {
  replaceByCall(op, "bppsa_rt_shard_first_step", {});
  return success();
}

static LogicalResult lower(dist::ShardAllStepsOp op) {
  replaceByCall(op, "bppsa_rt_shard_all_steps", op.getOwn());
  return success();
}

static LogicalResult lower(dist::RankWeightOp op) {
  replaceByCall(op, "bppsa_rt_rank_weight", {});
  return success();
}

static LogicalResult lower(dist::AwaitParameterOp op) {
  OpBuilder builder(op);
  replaceByCall(op, "bppsa_rt_await_parameter",
                getAddress(builder, op.getLoc(), op.getParameter()));
  return success();
}

static LogicalResult lower(dist::SignalGradientOp op) {
  OpBuilder builder(op);
  replaceByCall(op, "bppsa_rt_signal_gradient", getAddress(builder, op.getLoc(), op.getGradient()));
  return success();
}

/// Lowers an operation of the dialect on memrefs.
static LogicalResult lowerOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<
#define GET_OP_LIST
#include "bppsa/Dialect/Dist/IR/DistOps.cpp.inc"
          >([](auto exchange) { return lower(exchange); });
}

static bool hasTensors(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

LogicalResult bppsa::lowerExchangeCalls(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<dist::DistDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (hasTensors(op))
      return op->emitOpError("works on tensors; run bppsa-bufferize first");
    if (failed(lowerOp(op)))
      return failure();
  }
  return success();
}

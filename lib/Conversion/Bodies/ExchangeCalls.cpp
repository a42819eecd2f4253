//===- ExchangeCalls.cpp - exchanges of gradients by the run time ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ExchangeCalls.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

/// Replaces `op` by a call of the run-time function `name`.
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

/// The run time works in the place of the destination.
static void lower(RankMeanOp op) {
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
}

LogicalResult bppsa::lowerExchangeCalls(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<AwaitParameterOp, SignalGradientOp, RankMeanOp, RankWeightOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto mean = dyn_cast<RankMeanOp>(op)) {
      if (mean.getResult())
        return mean.emitOpError("works on tensors; run bppsa-bufferize first");
      lower(mean);
    } else if (isa<RankWeightOp>(op)) {
      replaceByCall(op, "bppsa_rt_rank_weight", {});
    } else {
      replaceByCall(
          op, isa<AwaitParameterOp>(op) ? "bppsa_rt_await_parameter" : "bppsa_rt_signal_gradient",
          getAddress(builder, op->getLoc(), op->getOperand(0)));
    }
  }
  return success();
}

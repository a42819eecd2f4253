//===- ExchangeCalls.cpp - exchanges of gradients by the run time ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ExchangeCalls.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

/// Replaces `op` by a call of the run-time function `name` with the address of its operand.
static void lower(Operation *op, StringRef name, ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    function = func::FuncOp::create(builder, module.getLoc(), name,
                                    builder.getFunctionType({builder.getIndexType()}, {}));
    function.setPrivate();
  }
  builder.setInsertionPoint(op);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, op->getLoc(), op->getOperand(0));
  func::CallOp::create(builder, op->getLoc(), function, address);
  op->erase();
}

void bppsa::lowerExchangeCalls(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<AwaitParameterOp, SignalGradientOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    lower(op, isa<AwaitParameterOp>(op) ? "bppsa_rt_await_parameter" : "bppsa_rt_signal_gradient",
          module);
}
